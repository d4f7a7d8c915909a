import { defineConfig } from 'vitest/config'

// As in the end-to-end tests: CI machines are shared and noisy. A second try there is reported as one, never hidden.
const retry = process.env['CI'] !== undefined ? 1 : 0

// Unit and integration tests lie beside the files they test. Tests of the window run in jsdom, all others in Node.
export default defineConfig({
  test: {
    // Both cores of the smallest machine that runs them: much of the time is spent waiting, for servers, timers and compilers.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'node',
          environment: 'node',
          include: ['server-core/**/*.test.ts', 'electron/**/*.test.ts', 'scripts/**/*.test.ts', 'native/**/*.test.ts', 'renderer/lib/**/*.test.ts', 'e2e/packaging/**/*.test.ts', 'assets/**/*.test.ts'],
          testTimeout: 30_000,
          retry,
          hookTimeout: 60_000,
        },
      },
      {
        test: { name: 'window', environment: 'jsdom', include: ['renderer/**/*.test.tsx'], testTimeout: 30_000, retry },
      },
    ],
  },
})
