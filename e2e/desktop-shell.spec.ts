/** What only the desktop shell has: isolation, menu, dialogs, one instance, window place, supervision, and the way it closes. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from '@playwright/test'
import type { ElectronApplication, Page } from '@playwright/test'
import type { ConsoleCommandName, DesktopApi, ServerProcessState } from '../server-core/contract/console-api.ts'
import { desktopArguments, electronExecutable, launchDesktop, PROJECT_DIRECTORY } from './launch-desktop.ts'
import type { RunningDesktop } from './launch-desktop.ts'

interface ShellFixtures {
  readonly host: string
  readonly electronPath: string | undefined
  /** One folder per test; removed afterwards. */
  readonly work: string
  /** Starts the application on the test's user data; closed after the test. */
  readonly launch: (...args: readonly string[]) => Promise<RunningDesktop>
}

const test = base.extend<ShellFixtures>({
  host: ['desktop', { option: true }],
  electronPath: [undefined, { option: true }],
  work: async ({}, use) => {
    const work = realpathSync(mkdtempSync(join(tmpdir(), 'desktop-shell-')))
    await use(work)
    rmSync(work, { recursive: true, force: true, maxRetries: 5 })
  },
  launch: async ({ work, electronPath }, use) => {
    const launched: RunningDesktop[] = []
    await use(async (...args) => {
      const desktop = await launchDesktop({ ...launchOptions(work, electronPath), args })
      launched.push(desktop)
      return desktop
    })
    for (const desktop of launched) await desktop.close()
  },
})

function launchOptions(work: string, electronPath: string | undefined) {
  return { userDataDirectory: join(work, 'user-data'), ...(electronPath === undefined ? {} : { executablePath: electronPath }) }
}

/** The page's own desktop API, in the page. */
type DesktopWindow = Window & { readonly desktopApi: DesktopApi }

const serverState = (page: Page) => page.evaluate(() => new Promise<ServerProcessState>((resolve) => {
  const unsubscribe = (window as unknown as DesktopWindow).desktopApi.onServerProcess((state) => {
    resolve(state)
    queueMicrotask(() => { unsubscribe() })
  })
}))

const recentRepositories = (page: Page) => page.evaluate(() => (window as unknown as DesktopWindow).desktopApi.recentRepositories())

async function runningProcessId(page: Page): Promise<number> {
  await expect.poll(async () => (await serverState(page)).kind, { timeout: 30_000 }).toBe('running')
  const state = await serverState(page)
  return state.kind === 'running' ? state.processId : 0
}

/** A command over the console's own socket, from inside the page, as the window sends it. */
function command(page: Page, name: ConsoleCommandName, args?: unknown): Promise<unknown> {
  return page.evaluate(async ({ name, args }) => {
    const { url, token } = await (window as unknown as DesktopWindow).desktopApi.connection()
    const socket = new WebSocket(`${url}?token=${encodeURIComponent(token)}`)
    try {
      return await new Promise((resolve, reject) => {
        socket.onerror = () => { reject(new Error('the console socket failed')) }
        socket.onopen = () => { socket.send(JSON.stringify({ type: 'command', id: 1, name, args })) }
        socket.onmessage = ({ data }) => {
          const message = JSON.parse(String(data)) as { type: string; ok: boolean; value: unknown; error?: { message: string } }
          if (message.type !== 'result') return
          if (message.ok) resolve(message.value)
          else reject(new Error(message.error?.message))
        }
      })
    } finally {
      socket.close()
    }
  }, { name, args })
}

const clickMenuItem = (app: ElectronApplication, id: string) => app.evaluate(({ Menu }, itemId) => { Menu.getApplicationMenu()?.getMenuItemById(itemId)?.click() }, id)

/** A repository with one model that needs no files. */
function writeIdentityRepository(directory: string): string {
  const model = join(directory, 'echo')
  mkdirSync(join(model, '1'), { recursive: true })
  writeFileSync(join(model, 'config.pbtxt'), `backend: "identity"
max_batch_size: 8
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] } ]
`)
  return directory
}

// Each leaves the window so that the next can go on: one start for all.
test.describe('in one window', () => {
  let work: string
  let desktop: RunningDesktop
  test.beforeAll(async ({}, { project }) => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'desktop-shell-')))
    desktop = await launchDesktop(launchOptions(work, (project.use as Partial<ShellFixtures>).electronPath))
  })
  test.afterAll(async () => {
    await desktop.close()
    rmSync(work, { recursive: true, force: true, maxRetries: 5 })
  })

  test('the page is isolated: no Node, no raw channel, a bridge that cannot be changed, no eval', async () => {
    const { page } = desktop
    expect(await page.evaluate(async () => {
      const bridge = (window as unknown as Record<string, Record<string, unknown>>)['desktopApi'] ?? {}
      const original = bridge['settings']
      try { bridge['settings'] = () => 'forged' } catch { /* frozen */ }
      try { (window as unknown as Record<string, unknown>)['desktopApi'] = {} } catch { /* not writable */ }
      // Later: the debugger's own evaluation is exempt from the policy.
      const evaluated = await new Promise((resolve) => setTimeout(() => {
        try { resolve(String(new Function('return 1')())) } catch (error) { resolve((error as Error).name) }
      }))
      return {
        globals: ['require', 'process', 'module', 'Buffer', 'ipcRenderer', 'electron', 'global'].filter((name) => name in window),
        isUnchanged: (window as unknown as DesktopWindow).desktopApi.settings === original,
        evaluated,
      }
    })).toEqual({ globals: [], isUnchanged: true, evaluated: 'EvalError' })
  })

  test('a page that is not the console gets no file, no window, no navigation', async () => {
    const { app, page } = desktop
    await app.evaluate(({ shell }) => {
      const opened: string[] = []
      Object.assign(globalThis, { openedOutside: opened })
      shell.openExternal = (url: string) => {
        opened.push(url)
        return Promise.resolve()
      }
    })
    const before = page.url()
    const isOpened = await page.evaluate(() => ['https://github.com/onnx/onnx', 'https://example.com/', 'file:///etc/passwd'].map((url) => window.open(url) !== null))
    expect(isOpened).toEqual([false, false, false])
    await page.evaluate(() => {
      const link = Object.assign(document.createElement('a'), { href: 'https://example.com/elsewhere', target: '_blank', rel: 'noopener', textContent: 'x' })
      document.body.append(link)
      link.click()
      link.remove()
      window.location.href = 'https://example.com/'
    })
    await expect.poll(() => app.evaluate(() => (globalThis as unknown as { openedOutside: string[] }).openedOutside)).toEqual(['https://github.com/onnx/onnx'])
    expect(await page.evaluate(() => document.title)).toBeTruthy()
    expect(page.url()).toBe(before)
    await expect.poll(() => app.windows().length).toBe(1)
    const blocked = await page.evaluate(() => fetch('https://example.com/').then(() => 'fetched', (error: Error) => error.name))
    expect(blocked).toBe('TypeError')
  })

  test('the menu follows the language and leads to pages', async () => {
    const { app, page } = desktop
    const labels = () => app.evaluate(({ Menu }) => Menu.getApplicationMenu()?.items.map((item) => item.label))
    expect(await labels()).toEqual(['&File', '&Edit', '&View', 'E&ngine', '&Help'])
    await page.evaluate(() => (window as unknown as DesktopWindow).desktopApi.changeSettings({ language: 'zh-CN' }))
    await expect.poll(labels).toEqual(['文件(&F)', '编辑(&E)', '视图(&V)', '服务引擎(&N)', '帮助(&H)'])
    await clickMenuItem(app, 'page-models')
    await expect.poll(() => page.evaluate(() => window.location.hash)).toBe('#/models')
  })

  test('a cancelled dialog changes nothing', async () => {
    const { app, page } = desktop
    await app.evaluate(({ dialog }) => { dialog.showOpenDialog = () => Promise.resolve({ canceled: true, filePaths: [] }) })
    expect(await page.evaluate(() => (window as unknown as DesktopWindow).desktopApi.chooseRepository())).toBeNull()
    expect(await recentRepositories(page)).toEqual([])
  })

  test('the folder dialog opens a repository, and it is the first of the recent ones', async () => {
    const repository = writeIdentityRepository(join(work, 'models'))
    const { app, page } = desktop
    await runningProcessId(page)
    await app.evaluate(({ dialog }, path) => { dialog.showOpenDialog = () => Promise.resolve({ canceled: false, filePaths: [path] }) }, repository)
    await expect.poll(async () => {
      await clickMenuItem(app, 'open-repository')
      return recentRepositories(page)
    }, { timeout: 15_000 }).toEqual([repository])
    expect(await command(page, 'server.status')).toMatchObject({ repositoryPaths: [repository], controlMode: 'explicit' })
    expect(await app.evaluate(({ Menu }) => Menu.getApplicationMenu()?.getMenuItemById('recent-0')?.label)).toBe(repository)
  })
})

test('a second start hands its folder to the first and ends', async ({ launch, work, electronPath }) => {
  const repository = writeIdentityRepository(join(work, 'models'))
  const { app, page } = await launch()
  await runningProcessId(page)
  const second = spawn(electronExecutable(electronPath), ['--no-sandbox', ...desktopArguments({ ...launchOptions(work, electronPath), args: [repository] })], { cwd: PROJECT_DIRECTORY, stdio: 'ignore' })
  expect(await once(second, 'exit')).toEqual([0, null])
  await expect.poll(() => recentRepositories(page), { timeout: 15_000 }).toEqual([repository])
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
})

test('a folder on the command line is served, and again at the next start', async ({ launch, work }) => {
  const repository = writeIdentityRepository(join(work, 'models'))
  for (const args of [[repository], []]) {
    const desktop = await launch(...args)
    expect(await command(desktop.page, 'server.status')).toMatchObject({ repositoryPaths: [repository] })
    await desktop.close()
  }
})

test('flags of serve hold in the desktop too; a port in use is replaced and said', async ({ launch, work }) => {
  const repository = writeIdentityRepository(join(work, 'models'))
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  try {
    const { page } = await launch(`--http-port=${port}`, '--grpc-port=0', `--model-repository=${repository}`, '--load-model', 'echo')
    await runningProcessId(page)
    expect(await serverState(page)).toMatchObject({ kind: 'running', portFallbacks: [{ name: 'http', requested: port }] })
    expect(await command(page, 'server.status')).toMatchObject({ repositoryPaths: [repository] })
    expect(await command(page, 'repository.models')).toMatchObject([{ name: 'echo', state: 'READY' }])
  } finally {
    other.close()
  }
})

test('a flag that cannot be is a reason, not a loop', async ({ launch }) => {
  const { page } = await launch('--http-port=many')
  await expect.poll(async () => (await serverState(page)).kind, { timeout: 20_000 }).toBe('failed')
  expect(await serverState(page)).toMatchObject({ reason: expect.stringContaining('--http-port') as unknown })
  // Another try on request; it fails for the same reason.
  await page.evaluate(() => (window as unknown as DesktopWindow).desktopApi.startServer())
  await expect.poll(async () => (await serverState(page)).kind, { timeout: 20_000 }).toBe('failed')
})

test('the window comes back where it was left', async ({ launch }) => {
  const first = await launch()
  await first.app.evaluate(({ BrowserWindow }) => { BrowserWindow.getAllWindows()[0]?.setBounds({ x: 40, y: 30, width: 1100, height: 700 }) })
  await first.close()
  const second = await launch()
  expect(await second.app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.getNormalBounds())).toEqual({ x: 40, y: 30, width: 1100, height: 700 })
})

test('a server process that is killed is shown within 2 s and runs again within 5 s', async ({ launch, work }) => {
  const repository = writeIdentityRepository(join(work, 'models'))
  const { page } = await launch(repository)
  const first = await runningProcessId(page)
  await page.evaluate(() => {
    const seen: unknown[] = []
    Object.assign(window, { seenStates: seen });
    (window as unknown as DesktopWindow).desktopApi.onServerProcess((state) => { seen.push(state) })
  })
  const seenKinds = () => page.evaluate(() => (window as unknown as { seenStates: ServerProcessState[] }).seenStates.map((state) => state.kind))
  process.kill(first, 'SIGKILL')
  await expect.poll(seenKinds, { timeout: 2000, intervals: [50] }).toContain('restarting')
  await expect.poll(seenKinds, { timeout: 5000, intervals: [50] }).toEqual(['running', 'restarting', 'starting', 'running'])
  expect(await runningProcessId(page)).not.toBe(first)
  expect(await command(page, 'server.status')).toMatchObject({ repositoryPaths: [repository] })
})

test('a page whose process crashes is loaded again while the server goes on', async ({ launch }) => {
  const { app, page } = await launch()
  const server = await runningProcessId(page)
  await app.evaluate(({ BrowserWindow }) => {
    const contents = BrowserWindow.getAllWindows()[0]?.webContents
    const events: string[] = []
    Object.assign(globalThis, { pageEvents: events })
    contents?.on('render-process-gone', (_event, { reason }) => { events.push(reason) })
    contents?.on('did-finish-load', () => { events.push('loaded') })
    contents?.forcefullyCrashRenderer()
  })
  const events = () => app.evaluate(() => (globalThis as unknown as { pageEvents: string[] }).pageEvents)
  await expect.poll(async () => (await events()).at(-1), { timeout: 15_000 }).toBe('loaded')
  expect((await events())[0]).toMatch(/^(crashed|killed)$/)
  expect(await app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)).toBe(1)
  expect(() => process.kill(server, 0)).not.toThrow()
})

test('closing while a model serves asks once; serving goes on without a window, and a second start brings it back', async ({ launch, work, electronPath }) => {
  const repository = writeIdentityRepository(join(work, 'models'))
  const { app, page } = await launch(repository)
  const server = await runningProcessId(page)
  await command(page, 'model.load', { name: 'echo' })
  await app.evaluate(({ dialog }) => {
    const asked: string[] = []
    Object.assign(globalThis, { asked })
    dialog.showMessageBox = ((_parent: unknown, options: { message: string }) => {
      asked.push(options.message)
      // The first time: cancel. Then: keep serving, and do so every time.
      return Promise.resolve(asked.length === 1 ? { response: 2, checkboxChecked: true } : { response: 0, checkboxChecked: true })
    }) as typeof dialog.showMessageBox
  })
  const closeWindow = () => app.evaluate(({ BrowserWindow }) => { BrowserWindow.getAllWindows()[0]?.close() })
  const asked = () => app.evaluate(() => (globalThis as unknown as { asked: string[] }).asked)
  const windowCount = () => app.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows().length)

  await closeWindow()
  await expect.poll(asked).toEqual(['One model is serving.'])
  expect(await windowCount()).toBe(1)
  // While the first answer is still being taken in, a close does nothing.
  await expect.poll(async () => {
    await closeWindow()
    return asked()
  }).toHaveLength(2)
  await expect.poll(windowCount).toBe(0)
  expect(() => process.kill(server, 0)).not.toThrow()

  const reopened = app.waitForEvent('window')
  const second = spawn(electronExecutable(electronPath), ['--no-sandbox', ...desktopArguments(launchOptions(work, electronPath))], { cwd: PROJECT_DIRECTORY, stdio: 'ignore' })
  expect(await once(second, 'exit')).toEqual([0, null])
  const again = await reopened
  await again.waitForURL((url) => url.protocol !== 'about:')
  expect(await runningProcessId(again)).toBe(server)

  await closeWindow()
  await expect.poll(windowCount).toBe(0)
  expect(await asked()).toHaveLength(2)
})

test('quitting ends the server process too', async ({ launch }) => {
  const { page, close } = await launch()
  const server = await runningProcessId(page)
  await close()
  expect(() => process.kill(server, 0)).toThrow('ESRCH')
})
