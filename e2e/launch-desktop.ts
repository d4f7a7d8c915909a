/**
 * Starts the desktop application for a test: the real main process and preload, on the stand-in executable or on the Electron that
 * `executablePath` names. Build first: `node scripts/build.mjs`.
 */
import { fileURLToPath } from 'node:url'
import { _electron } from '@playwright/test'
import type { ElectronApplication, Page } from '@playwright/test'

export const PROJECT_DIRECTORY = fileURLToPath(new URL('..', import.meta.url))
export const STANDIN_EXECUTABLE = fileURLToPath(new URL('./standin/electron', import.meta.url))

export interface LaunchOptions {
  /** Settings, window state and the single-instance lock lie here: one folder per test. */
  readonly userDataDirectory: string
  readonly executablePath?: string
  /** Further arguments, e.g. a repository to open. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface RunningDesktop {
  readonly app: ElectronApplication
  readonly page: Page
  close(): Promise<void>
}

export function electronExecutable(executablePath?: string): string {
  return executablePath ?? STANDIN_EXECUTABLE
}

/** The arguments of a start on this user data folder; a second process started with them meets the first one's lock. */
export function desktopArguments({ userDataDirectory, args = [] }: LaunchOptions): string[] {
  return ['.', `--user-data-dir=${userDataDirectory}`, '--lang=en-US', ...args]
}

export async function launchDesktop(options: LaunchOptions): Promise<RunningDesktop> {
  const app = await _electron.launch({
    executablePath: electronExecutable(options.executablePath),
    args: desktopArguments(options),
    cwd: PROJECT_DIRECTORY,
    env: { ...definedEnvironment(), ...options.env },
  })
  const page = await app.firstWindow()
  // A new window is blank until main's address is there.
  await page.waitForURL((url) => url.protocol !== 'about:')
  return { app, page, close: () => app.close() }
}

function definedEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined))
}
