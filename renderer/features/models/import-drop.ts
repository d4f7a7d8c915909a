/** What was dropped or chosen: paths where the shell knows them (nothing has to be uploaded then), else the files with their place in a folder. */
import { desktopApi } from '../../lib/desktop-api.ts'

export interface DroppedFile {
  /** Relative to what was dropped, with `/`. */
  readonly path: string
  readonly file: File
}

export interface Dropped {
  /** Of the first file or the folder; '' where nothing that can be read was dropped. */
  readonly fileName: string
  readonly hasFolder: boolean
  /** Names of the files, those below folders aside. */
  readonly names: readonly string[]
  readonly source: { readonly kind: 'local'; readonly paths: readonly string[] } | { readonly kind: 'template'; readonly name: string } | { readonly kind: 'upload'; readonly files: readonly DroppedFile[] }
}

/** Call it while the drop event is handled: afterwards the browser has emptied the transfer. */
export function droppedFiles(transfer: DataTransfer): Promise<Dropped> {
  const files = [...transfer.files]
  const entries = [...transfer.items].map((item) => (item.kind === 'file' ? item.webkitGetAsEntry() : null)).filter((entry) => entry !== null)
  return describeDropped(files, entries)
}

/** @param entries the same things as `files`, where the browser can look into folders; empty where not */
export async function describeDropped(files: readonly File[], entries: readonly FileSystemEntry[] = []): Promise<Dropped> {
  const hasFolder = entries.some((entry) => entry.isDirectory)
  const names = files.map((file) => file.name)
  const base = { fileName: names[0] ?? entries[0]?.name ?? '', hasFolder, names }
  const paths = files.map((file) => desktopApi()?.pathForFile(file) ?? '')
  if (paths.length > 0 && paths.every((path) => path !== '')) return { ...base, source: { kind: 'local', paths } }
  if (!hasFolder) return { ...base, source: { kind: 'upload', files: files.map((file) => ({ path: file.name, file })) } }
  const found: DroppedFile[] = []
  for (const entry of entries) await collect(entry, '', found)
  return { ...base, source: { kind: 'upload', files: found } }
}

/** Hidden files and Python's caches stay behind, as they do when the server reads a folder. */
async function collect(entry: FileSystemEntry, parent: string, found: DroppedFile[]): Promise<void> {
  if (entry.name.startsWith('.') || entry.name === '__pycache__') return
  const path = parent === '' ? entry.name : `${parent}/${entry.name}`
  if (entry.isFile) {
    found.push({ path, file: await new Promise<File>((resolve, reject) => { (entry as FileSystemFileEntry).file(resolve, reject) }) })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  // A reader answers in parts, and with none at the end.
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => { reader.readEntries(resolve, reject) })
    if (part.length === 0) return
    for (const child of part) await collect(child, path, found)
  }
}
