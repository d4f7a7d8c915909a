/** Opening repositories: the desktop's dialog or the window's folder browser, the sample, and what was opened lately. */
import { create } from 'zustand'
import { command } from '../console-client.ts'
import { useConsole } from '../console-store.ts'
import { desktopApi } from '../lib/desktop-api.ts'
import { navigate } from '../router.ts'

export interface RepositoryTask {
  /** 'sample': the sample repository is being written and opened. */
  readonly kind: 'open' | 'sample'
  readonly path: string
  /** null while it runs. */
  readonly error: unknown
}

interface RepositoryState {
  readonly isBrowsing: boolean
  readonly task: RepositoryTask | null
  readonly recent: readonly string[]
}

export const useRepository = create<RepositoryState>()(() => ({ isBrowsing: false, task: null, recent: [] }))

/** Asks for the recent list again: the desktop's, or the server's own. */
export async function refreshRecent(): Promise<void> {
  try {
    useRepository.setState({ recent: await (desktopApi()?.recentRepositories() ?? command('repository.recent')) })
  } catch {
    // Not connected just now: the list stays what it was, and the menu works without it.
  }
}

/** Lets the person pick a folder, then opens it. */
export function chooseRepository(): void {
  const desktop = desktopApi()
  if (!desktop) {
    useRepository.setState({ isBrowsing: true })
    return
  }
  void desktop.chooseRepository().then((path) => (path === null ? undefined : openRepository(path)))
}

export function stopBrowsing(): void {
  useRepository.setState({ isBrowsing: false })
}

export async function openRepository(path: string): Promise<void> {
  await run({ kind: 'open', path, error: null }, () => command('repository.open', { path }))
}

/** The sample's model that shows most with one picture: its Test tab offers Load, then Run. */
const SAMPLE_TO_TRY = 'ppocr_rec'

/** @param goOn where to then; default: that model's Test tab */
export async function openSampleRepository(goOn: () => void = () => navigate('models', SAMPLE_TO_TRY, 'test')): Promise<void> {
  const { hash } = window.location
  const isOpen = await run({ kind: 'sample', path: '', error: null }, () => command('repository.openSample'))
  // Whoever went elsewhere meanwhile stays there.
  if (isOpen && window.location.hash === hash) goOn()
}

/** True when it is open. */
async function run(task: RepositoryTask, open: () => ReturnType<typeof command<'repository.open'>>): Promise<boolean> {
  useRepository.setState({ task, isBrowsing: false })
  try {
    const status = await open()
    useConsole.setState({ status, models: [...await command('repository.models')] })
    useRepository.setState({ task: null })
    return true
  } catch (error) {
    useRepository.setState({ task: { ...task, error } })
    return false
  }
}

export function dismissTask(): void {
  useRepository.setState({ task: null })
}

/** Last part of a path, as the name of the repository. */
export function folderName(path: string): string {
  return path.replace(/[\\/]+$/, '').split(/[\\/]/).pop() ?? path
}
