/** The machine as the Doctor looks at it: every path below one root and every answer of the system through one object, so that tests can build a workstation in a folder. */
import { constants } from 'node:fs'
import { access, readdir, readFile, realpath, statfs } from 'node:fs/promises'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { NpuSource } from '../../contract/devices.ts'
import { runTool, type RunTool } from '../run-tool.ts'

export interface MachineOptions {
  /** Of the file system that is looked at: '/' on a real machine. */
  readonly root: string
  /** Of the process that serves, or will. */
  readonly environment: NodeJS.ProcessEnv
  readonly homeDirectory: string
  readonly userName: string
  readonly userId: number
  readonly groupIds: readonly number[]
  /** As `uname -m` says it: x86_64, aarch64. */
  readonly architecture: string
  /** Null: it is not installed. */
  readonly onnxRuntimeVersion: string | null
  readonly run: RunTool
  readonly canReadAndWrite: (path: string) => Promise<boolean>
  /** Size of the file system at a path; null: there is none. */
  readonly fileSystemBytes: (path: string) => Promise<number | null>
  /** Absent: its own cards, where it has some. */
  readonly npu?: MachineNpu
  /** Where the build puts what is made from C++; absent: not looked at. */
  readonly nativeDirectory?: string
}

/** Where the server takes its cards from. */
export interface MachineNpu {
  readonly source: NpuSource
  /** Absolute; null unless the cards are simulated. */
  readonly simulatedCann: string | null
}

const OWN_CARDS: MachineNpu = { source: 'auto', simulatedCann: null }

export class Machine {
  readonly options: MachineOptions

  constructor(options: MachineOptions) {
    this.options = options
  }

  get npu(): MachineNpu { return this.options.npu ?? OWN_CARDS }

  get environment(): NodeJS.ProcessEnv { return this.options.environment }

  /** A path of the machine as a path of this process. */
  path(path: string): string { return join(this.options.root, path) }

  /** Null: it is not there, or cannot be read. */
  async readText(path: string): Promise<string | null> { return readFile(this.path(path), 'utf8').catch(() => null) }

  async exists(path: string): Promise<boolean> { return access(this.path(path)).then(() => true, () => false) }

  /** Names in a folder; empty where there is none. */
  async list(path: string): Promise<readonly string[]> { return readdir(this.path(path)).catch(() => []) }

  /** Where a link leads, as a path of this process; null: nowhere. */
  async resolve(path: string): Promise<string | null> { return realpath(this.path(path)).catch(() => null) }

  async canReadAndWrite(path: string): Promise<boolean> { return this.options.canReadAndWrite(this.path(path)) }

  async fileSystemBytes(path: string): Promise<number | null> { return this.options.fileSystemBytes(this.path(path)) }

  /** `key=value` lines; keys in lower case. Null: the file is not there. */
  async readSettings(path: string): Promise<ReadonlyMap<string, string> | null> {
    const text = await this.readText(path)
    if (text === null) return null
    return new Map(text.split('\n').flatMap((line): [string, string][] => {
      const [, key, value] = /^\s*([\w.]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
      return key === undefined || value === undefined ? [] : [[key.toLowerCase(), value.replace(/^["']|["']$/g, '')]]
    }))
  }

  /** A program as a shell of this machine would find it: a path of the machine. */
  async findProgram(...names: readonly string[]): Promise<string | null> {
    const directories = (this.environment['PATH'] ?? '/usr/local/bin:/usr/bin:/bin').split(':').filter((path) => path.startsWith('/'))
    for (const name of names) {
      for (const directory of directories) {
        const path = join(directory, name)
        if (await access(this.path(path), constants.X_OK).then(() => true, () => false)) return path
      }
    }
    return null
  }

  /** Inside a container the fix is one of the command that started it. */
  async isContainer(): Promise<boolean> {
    return await this.exists('/.dockerenv') || await this.exists('/run/.containerenv')
  }
}

/** The machine that this process runs on. */
export function thisMachine(environment: NodeJS.ProcessEnv, onnxRuntimeVersion: string | null, more: Pick<MachineOptions, 'npu' | 'nativeDirectory'> = {}): Machine {
  const { username, uid } = userInfo()
  return new Machine({
    root: '/', environment, homeDirectory: homedir(), userName: username, userId: uid, groupIds: process.getgroups?.() ?? [],
    architecture: process.arch === 'arm64' ? 'aarch64' : 'x86_64', onnxRuntimeVersion, run: runTool, ...more,
    canReadAndWrite: (path) => access(path, constants.R_OK | constants.W_OK).then(() => true, () => false),
    fileSystemBytes: (path) => statfs(path).then(({ blocks, bsize }) => blocks * bsize, () => null),
  })
}
