/**
 * One suite, three projects: `browser` (the console served by npu-console), `desktop` (the real main process and preload on the stand-in
 * executable), `desktop-real` (a real Electron, only when ELECTRON_E2E_PATH names one). A journey runs in all of them unless its tag says
 * otherwise: `@browser-only` starts a server of its own, `@desktop-only` needs the shell, and `@either-host` is about what the window and the server
 * do in the same way wherever the window is: once, in the browser, is enough; a real Electron has it too.
 */
import { defineConfig } from '@playwright/test'
import type { ConsoleOptions } from './console-fixture.ts'

const realElectron = process.env['ELECTRON_E2E_PATH']

export default defineConfig<ConsoleOptions>({
  testDir: '.',
  testMatch: ['journeys/*.spec.ts'],
  outputDir: '../test-results/e2e',
  // Two cores, one server per test: side by side they would measure each other.
  workers: 1,
  fullyParallel: false,
  // CI machines are shared and noisy: a second try there is reported as flaky, never hidden.
  retries: process.env['CI'] !== undefined ? 1 : 0,
  forbidOnly: process.env['CI'] !== undefined,
  timeout: 120_000,
  expect: { timeout: 15_000 },
  use: { actionTimeout: 30_000, viewport: { width: 1440, height: 900 } },
  reporter: [['list'], ['json', { outputFile: process.env['PLAYWRIGHT_JSON_OUTPUT_FILE'] ?? '../test-results/e2e.json' }]],
  projects: [
    { name: 'browser', use: { host: 'browser' }, grepInvert: /@desktop-only/ },
    { name: 'desktop', use: { host: 'desktop' }, grepInvert: /@browser-only|@either-host/, testMatch: ['journeys/*.spec.ts', 'desktop-shell.spec.ts'] },
    ...(realElectron === undefined ? [] : [{ name: 'desktop-real', use: { host: 'desktop' as const, electronPath: realElectron }, grepInvert: /@browser-only/, testMatch: ['journeys/*.spec.ts', 'desktop-shell.spec.ts'] }]),
  ],
})
