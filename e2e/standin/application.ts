/** `app`: life cycle, paths, command line, and the single-instance lock. */
import { EventEmitter } from 'node:events'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, watch, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { CommandLine } from './command-line.ts'
import { strict } from './strict.ts'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly main: string
}

/** An event whose default can be prevented. */
export class PreventableEvent {
  defaultPrevented = false
  preventDefault(): void { this.defaultPrevented = true }
}

export class Application extends EventEmitter {
  readonly isPackaged = false
  readonly commandLine: { getSwitchValue(name: string): string; hasSwitch(name: string): boolean; appendSwitch(name: string, value?: string): void }
  readonly manifest: Manifest
  /** Calls that would show something on a real desktop. */
  readonly recordedCalls: { readonly name: string; readonly args: readonly unknown[] }[] = []
  /** Set by the windows: closes them all; resolves to false when one of them refused. */
  closeAllWindows: () => Promise<boolean> = () => Promise.resolve(true)
  /** Set by the launcher: what has to end before the process does. */
  closeBrowser: () => Promise<void> = () => Promise.resolve()
  private readonly applicationDirectory: string
  private readonly paths = new Map<string, string>()
  private readonly ready: Promise<void>
  private isReadyNow = false
  private becomeReady: () => void = () => undefined
  private isQuitting = false

  constructor(commandLine: CommandLine) {
    super()
    this.applicationDirectory = commandLine.applicationDirectory
    this.manifest = JSON.parse(readFileSync(join(this.applicationDirectory, 'package.json'), 'utf8')) as Manifest
    const switches = new Map(commandLine.switches)
    this.commandLine = strict('app.commandLine', {
      getSwitchValue: (name: string) => switches.get(name) ?? '',
      hasSwitch: (name: string) => switches.has(name),
      appendSwitch: (name: string, value = '') => { switches.set(name, value) },
    })
    this.paths.set('home', homedir())
    this.paths.set('userData', join(homedir(), '.config', this.manifest.name))
    this.ready = new Promise((resolve) => { this.becomeReady = resolve })
  }

  getAppPath(): string { return this.applicationDirectory }
  getName(): string { return this.manifest.name }
  getVersion(): string { return this.manifest.version }
  getLocale(): string { return this.commandLine.getSwitchValue('lang') || 'en-US' }

  getPath(name: string): string {
    const path = this.paths.get(name)
    if (path === undefined) throw new Error(`The stand-in knows no path '${name}'.`)
    return path
  }

  setPath(name: string, path: string): void { this.paths.set(name, path) }

  isReady(): boolean { return this.isReadyNow }
  whenReady(): Promise<void> { return this.ready }

  /** Called by the launcher when the browser is there. */
  announceReady(): void {
    this.isReadyNow = true
    this.becomeReady()
    this.emit('ready', {}, {})
  }

  addRecentDocument(path: string): void { this.record('addRecentDocument', path) }
  setAboutPanelOptions(options: unknown): void { this.record('setAboutPanelOptions', options) }
  showAboutPanel(): void { this.record('showAboutPanel') }

  /** before-quit, close every window, will-quit, quit, exit: each step may be refused as in Electron. */
  quit(): void {
    if (this.isQuitting) return
    const before = new PreventableEvent()
    this.emit('before-quit', before)
    if (before.defaultPrevented) return
    this.isQuitting = true
    void this.closeAllWindows().then((areClosed) => {
      this.isQuitting = false
      if (!areClosed) return
      const will = new PreventableEvent()
      this.emit('will-quit', will)
      if (will.defaultPrevented) return
      this.emit('quit', {}, 0)
      this.exit(0)
    })
  }

  exit(code = 0): void {
    void this.closeBrowser().finally(() => { process.exit(code) })
  }

  /** True for the first process of a user data folder. A later one hands its arguments over and gets false. */
  requestSingleInstanceLock(): boolean {
    const directory = join(this.getPath('userData'), 'standin-instance')
    mkdirSync(directory, { recursive: true })
    const lock = join(directory, 'lock')
    if (existsSync(lock) && isAlive(Number(readFileSync(lock, 'utf8')))) {
      writeFileSync(join(directory, `start-${process.pid}.json`), JSON.stringify({ argv: process.argv, workingDirectory: process.cwd() }))
      return false
    }
    writeFileSync(lock, String(process.pid))
    process.on('exit', () => { rmSync(directory, { recursive: true, force: true }) })
    watch(directory, () => { this.readLaterStarts(directory) }).unref()
    return true
  }

  /** True while the windows close because the application quits; `window-all-closed` is not sent then. */
  get isClosingForQuit(): boolean { return this.isQuitting }

  private readLaterStarts(directory: string): void {
    if (!existsSync(directory)) return
    for (const name of readdirSync(directory).filter((entry) => entry.startsWith('start-'))) {
      const text = readFileSync(join(directory, name), 'utf8')
      // Empty while the other process still writes it; another change follows.
      if (text === '') continue
      rmSync(join(directory, name))
      const { argv, workingDirectory } = JSON.parse(text) as { argv: string[]; workingDirectory: string }
      this.emit('second-instance', {}, argv, workingDirectory)
    }
  }

  private record(name: string, ...args: unknown[]): void {
    this.recordedCalls.push({ name, args })
  }
}

function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch {
    return false
  }
}
