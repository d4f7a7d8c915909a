/**
 * A running console for each test, in whichever host the project asks for: `npu-console serve --console` and a browser page, or the desktop
 * application. Each test gets its own data folder and its own server on free ports.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test as base, chromium, expect } from '@playwright/test'
import type { Browser, Page } from '@playwright/test'
import type { DesktopApi } from '../server-core/contract/console-api.ts'
import { startServerProcess } from '../server-core/testing/server-process.ts'
import { launchDesktop } from './launch-desktop.ts'

export interface ConsoleOptions {
  /** Where the window runs. */
  readonly host: 'browser' | 'desktop'
  /** The real Electron; undefined: the stand-in. */
  readonly electronPath: string | undefined
  /** A file that the server process loads ahead of itself; undefined: none. */
  readonly serverPreload: string | undefined
  /** Flags of `serve` beyond the usual. */
  readonly serverFlags: readonly string[]
}

export interface RunningConsole {
  readonly page: Page
  /** Holds the user's data (sample repository, settings); removed after the test. */
  readonly dataDirectory: string
  /** Port of the HTTP endpoint, read from the window as a person would. */
  httpPort(): Promise<number>
  /** Opens a folder as a model repository from the first-run page, by the host's own way: folder browser or dialog. */
  openFolder(path: string): Promise<void>
  serverProcessId(): Promise<number>
  /** Kills the server process at once, without a chance to say goodbye. */
  killServer(): Promise<void>
  /** Starts it again on the same ports and data; in the desktop the shell does that by itself. */
  startServerAgain(): Promise<void>
}

/** Debian's Chromium as root, and nothing it would fetch by itself. */
const CHROMIUM_ARGUMENTS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-quic']

interface WorkerFixtures {
  /** One Chromium for all tests that open a browser page, started by the first of them; each test has a context of its own. */
  readonly sharedChromium: () => Promise<Browser>
}

export const test = base.extend<ConsoleOptions & { console: RunningConsole }, WorkerFixtures>({
  sharedChromium: [async ({}, use) => {
    let browser: Promise<Browser> | undefined
    await use(() => browser ??= chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM_ARGUMENTS }))
    await (await browser)?.close()
  }, { scope: 'worker' }],
  host: ['browser', { option: true }],
  electronPath: [undefined, { option: true }],
  serverPreload: [undefined, { option: true }],
  serverFlags: [[], { option: true }],
  console: async ({ host, electronPath, serverPreload, serverFlags, viewport, sharedChromium }, use) => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'npu-console-e2e-'))
    mkdirSync(join(dataDirectory, 'home'), { recursive: true })
    const env = { XDG_DATA_HOME: join(dataDirectory, 'data'), XDG_CONFIG_HOME: join(dataDirectory, 'config'), HOME: join(dataDirectory, 'home') }
    const outside: string[] = []
    const errors: string[] = []
    let close = async () => {}
    try {
      const running = host === 'browser'
        ? await openInBrowser(env, await sharedChromium(), viewport, serverPreload, serverFlags)
        : await openDesktop(env, dataDirectory, electronPath, serverPreload, serverFlags)
      close = running.close
      watch(running.page, outside, errors)
      await use({ ...running, dataDirectory, httpPort: () => httpPortOf(running.page) })
    } finally {
      await close()
      rmSync(dataDirectory, { recursive: true, force: true, maxRetries: 3 })
    }
    expect(outside, 'requests that left this machine').toEqual([])
    expect(errors, 'errors in the page').toEqual([])
  },
})

export { expect }

interface OpenConsole extends Omit<RunningConsole, 'dataDirectory' | 'httpPort'> {
  close(): Promise<void>
}

/** A new visitor's page: English, light, without motion. */
export async function newVisitor(browser: Browser, viewport: { width: number; height: number } | null): Promise<Page> {
  const context = await browser.newContext({ viewport: viewport ?? { width: 1440, height: 900 }, locale: 'en-US', colorScheme: 'light', reducedMotion: 'reduce' })
  return context.newPage()
}

async function openInBrowser(
  ownEnv: NodeJS.ProcessEnv, browser: Browser, viewport: { width: number; height: number } | null, serverPreload: string | undefined, serverFlags: readonly string[],
): Promise<OpenConsole> {
  const env: NodeJS.ProcessEnv = { ...ownEnv, ...(serverPreload === undefined ? {} : { NODE_OPTIONS: nodeOptions(serverPreload) }) }
  const flags = ['--console', '--model-control-mode=explicit', ...serverFlags]
  let server = await startServerProcess(flags, { built: true, env })
  try {
    const page = await newVisitor(browser, viewport)
    await page.goto(server.consoleUrl)
    return {
      page,
      async openFolder(path) {
        await page.getByTestId('first-run-open').click()
        // The folder browser starts in the home directory.
        const dialog = page.getByRole('dialog')
        for (const name of relative(String(env['HOME']), path).split('/')) await dialog.getByText(name, { exact: true }).click()
        await dialog.getByRole('button', { name: /open/i }).last().click()
      },
      serverProcessId: () => Promise.resolve(server.processId),
      async killServer() {
        server.kill('SIGKILL')
        await server.exited
      },
      async startServerAgain() {
        const ports = [`--http-port=${server.httpPort}`, `--metrics-port=${server.metricsPort}`, `--console-port=${new URL(server.consoleUrl).port}`]
        server = await startServerProcess([...flags, ...ports], { built: true, env })
      },
      async close() {
        await page.context().close()
        await server.stop()
      },
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function openDesktop(
  env: Record<string, string>, dataDirectory: string, electronPath: string | undefined, serverPreload: string | undefined, serverFlags: readonly string[],
): Promise<OpenConsole> {
  const desktop = await launchDesktop({
    userDataDirectory: join(dataDirectory, 'electron'), env, args: serverFlags, ...(electronPath === undefined ? {} : { executablePath: electronPath }),
  })
  const { app, page } = desktop
  if (serverPreload !== undefined) {
    // Playwright starts Electron without NODE_OPTIONS: the server process that follows the first one has them.
    await app.evaluate((_electron, options) => { process.env['NODE_OPTIONS'] = options }, nodeOptions(serverPreload))
    const first = await serverProcessId(page)
    process.kill(first, 'SIGKILL')
    await expect.poll(() => serverProcessId(page), { timeout: 30_000 }).not.toBe(first)
    await expect(page.getByText('Engine ready')).toBeVisible({ timeout: 30_000 })
    await expect(page.getByTestId('connection-banner')).toBeHidden({ timeout: 30_000 })
  }
  return {
    page,
    async openFolder(path) {
      await app.evaluate(({ dialog }, folder) => { dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [folder] }) }, path)
      await page.getByTestId('first-run-open').click()
    },
    serverProcessId: () => serverProcessId(page),
    async killServer() {
      process.kill(await serverProcessId(page), 'SIGKILL')
    },
    startServerAgain: () => Promise.resolve(),
    close: () => desktop.close(),
  }
}

function nodeOptions(preload: string): string { return `--require=${preload}` }

/** The desktop's server process, as the shell tells its window. */
async function serverProcessId(page: Page): Promise<number> {
  return page.evaluate(() => new Promise<number>((resolve) => {
    const { desktopApi } = window as unknown as { desktopApi: DesktopApi }
    desktopApi.onServerProcess((state) => { if (state.kind === 'running') resolve(state.processId) })
  }))
}

/** "0 outbound connections during the whole run" and no exception in the page. */
function watch(page: Page, outside: string[], errors: string[]): void {
  page.on('request', (request) => {
    const url = new URL(request.url())
    const isOurs = ['data:', 'blob:', 'app:', 'about:'].includes(url.protocol) || ['127.0.0.1', 'localhost'].includes(url.hostname)
      // The stand-in answers the app:// scheme under a name that always means this machine.
      || url.hostname.endsWith('.localhost')
    if (!isOurs) outside.push(request.url())
  })
  page.on('pageerror', (error) => { errors.push(error.stack ?? error.message) })
}

/** Clicks an entry of the rail. */
export async function openPage(page: Page, name: 'Overview' | 'Models' | 'Monitor' | 'Pipelines' | 'Settings'): Promise<void> {
  await page.locator('[data-region="rail"]').getByRole('link', { name }).click()
}

/** Opens Overview and reads the engine card, which shows `http://127.0.0.1:<port>`. */
async function httpPortOf(page: Page): Promise<number> {
  await openPage(page, 'Overview')
  const address = page.getByText(/^http:\/\/127\.0\.0\.1:\d+$/).first()
  await expect(address).toBeVisible()
  return Number(/:(\d+)$/.exec(await address.innerText())?.[1])
}

export function chromiumPath(): string {
  const path = process.env['CHROMIUM_PATH']
  return path !== undefined && path !== '' ? path : '/usr/bin/chromium'
}
