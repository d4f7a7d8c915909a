/**
 * The imports that windows have open. Bytes that a window uploads lie in a hidden folder beside the repository until the model is made;
 * whatever way an import ends (made, closed, or its window gone), nothing of it stays.
 */
import { mkdir, open, rm, statfs, writeFile } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname, join, sep } from 'node:path'
import type { CommandResult, ModelImportReview, ModelImportSource, ModelImportTarget } from '../../contract/console-api.ts'
import type { InferenceServer } from '../../inference-server.ts'
import type { LogHub } from '../../logger.ts'
import { makeDirectory } from '../../make-directory.ts'
import { omReader } from '../../model-config/om-passport.ts'
import type { OmReader } from '../../model-config/om-passport.ts'
import { throwIfCancelled, transferError } from '../../model-repository/file-transfer.ts'
import { planImport } from '../../model-repository/import-plan.ts'
import type { ImportPlan } from '../../model-repository/import-plan.ts'
import { createImportedModel, importFolderName, removeStaleImports, reviewModelImport, temporaryParent } from '../../model-repository/model-import.ts'
import { templateDirectory } from '../../model-repository/model-templates.ts'
import { ServerError } from '../../server-error.ts'
import type { ConsoleCaller } from './console-commands.ts'

const PROGRESS_MILLISECONDS = 100

export interface ModelImportsContext {
  readonly server: InferenceServer
  readonly dataDirectory: string
  /** Our shipped `assets` folder. */
  readonly assetsDirectory: string
  readonly backends: readonly string[]
  readonly logs: LogHub
  /** Asks the CANN of this server. Default: the one that this process's environment leads to. */
  readonly readOm?: OmReader
}

interface UploadedFile {
  readonly path: string
  readonly byteSize: number
  received: number
  handle: FileHandle | null
}

interface OpenImport {
  readonly id: string
  readonly cancel: AbortController
  /** Files of ours, which no link may lead to. */
  isTemplate: boolean
  /** Absolute paths on this machine. */
  readonly localPaths: string[]
  readonly uploads: UploadedFile[]
  /** Where uploads lie; null: nothing was uploaded. */
  folder: string | null
  /** Ends with what was asked for last: the steps of one import never overlap. */
  queue: Promise<unknown>
}

export class ModelImports {
  readonly #context: ModelImportsContext
  readonly #imports = new Map<string, OpenImport>()

  constructor(context: ModelImportsContext) {
    this.#context = context
  }

  /** @throws ServerError UNAVAILABLE where the disk cannot take what is to be uploaded */
  async open(caller: ConsoleCaller, source: ModelImportSource, importId: string | null): Promise<{ importId: string }> {
    const one: OpenImport = importId === null
      ? { id: randomUUID(), cancel: new AbortController(), isTemplate: false, localPaths: [], uploads: [], folder: null, queue: Promise.resolve() } : this.#find(importId)
    if (importId === null) {
      this.#imports.set(one.id, one)
      caller.closed.addEventListener('abort', () => {
        this.close(one.id).catch((error: unknown) => {
          this.#context.logs.logger('console').warning('what was uploaded for an import is still there', { folder: one.folder ?? '', reason: String(error) })
        })
      }, { once: true })
      if (caller.closed.aborted) await this.close(one.id)
    }
    try {
      return await this.#next(one, async () => {
        if (source.kind === 'local') one.localPaths.push(...source.paths)
        else if (source.kind === 'template') {
          one.localPaths.push(await templateDirectory(this.#context.assetsDirectory, source.name))
          one.isTemplate = true
        } else await this.#expect(one, source.files)
        return { importId: one.id }
      })
    } catch (error) {
      if (importId === null) await this.close(one.id)
      throw error
    }
  }

  async #expect(one: OpenImport, files: readonly { readonly path: string; readonly byteSize: number }[]): Promise<void> {
    const folder = one.folder ?? await this.#uploadFolder()
    one.folder = folder
    const needed = files.reduce((sum, { byteSize }) => sum + byteSize, 0)
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < needed) {
      throw new ServerError('UNAVAILABLE', `The disk of '${dirname(folder)}' has ${bavail * bsize} bytes free, and the files need ${needed}. Free some space, or use a repository on another disk.`)
    }
    for (const { path, byteSize } of files) {
      if (one.uploads.some((upload) => upload.path === path)) throw new ServerError('INVALID_ARG', `'${path}' is in the import already.`)
      const target = join(folder, path)
      try {
        await mkdir(dirname(target), { recursive: true })
        if (byteSize === 0) await writeFile(target, '', { flag: 'wx' }) // complete at once: no bytes will come
      } catch (error) {
        throw transferError(error, path, target)
      }
      one.uploads.push({ path, byteSize, received: 0, handle: null })
    }
  }

  /** Beside the repository, where a rename makes a model of it; without a repository in our own data folder. */
  async #uploadFolder(): Promise<string> {
    const [repositoryPath] = this.#context.server.repositoryPaths
    if (repositoryPath === undefined) await makeDirectory(this.#context.dataDirectory, 'data directory')
    const parent = repositoryPath === undefined ? this.#context.dataDirectory : await temporaryParent(repositoryPath)
    await removeStaleImports(parent)
    const folder = join(parent, importFolderName())
    await mkdir(folder).catch((error: unknown) => { throw transferError(error, folder, folder) })
    return folder
  }

  /** @throws ServerError INVALID_ARG for bytes out of turn, UNAVAILABLE where they cannot be written */
  async chunk(importId: string, file: number, offset: number, data: Uint8Array): Promise<void> {
    const one = this.#find(importId)
    await this.#next(one, async () => {
      const upload = one.uploads[file]
      if (upload === undefined || one.folder === null || offset !== upload.received || data.length === 0 || offset + data.length > upload.byteSize) {
        throw new ServerError('INVALID_ARG', `bytes at ${offset} of file ${file} are out of turn: ${upload?.received ?? 0} of ${upload?.byteSize ?? 0} bytes are here`)
      }
      const target = join(one.folder, upload.path)
      try {
        const handle = upload.handle ??= await open(target, 'wx')
        for (let written = 0; written < data.length;) written += (await handle.write(data, written, data.length - written, offset + written)).bytesWritten
      } catch (error) {
        throw transferError(error, upload.path, target)
      }
      upload.received += data.length
      if (upload.received < upload.byteSize) return
      await upload.handle?.sync()
      await upload.handle?.close()
      upload.handle = null
    })
  }

  async review(importId: string, backend: string | null): Promise<ModelImportReview> {
    const one = this.#find(importId)
    return this.#next(one, async () => {
      const { server, backends, readOm = omReader() } = this.#context
      const repositoryPath = server.repositoryPaths[0] ?? null
      const awaitsTrust = repositoryPath === null ? null : await server.untrustedPath(repositoryPath)
      const destination = { repositoryPath, runsCode: await this.#runsCode(repositoryPath), existingNames: server.modelSummaries().map((model) => model.name), backends, readOm }
      const review = await reviewModelImport(await plan(one), destination, backend)
      return { ...review, isLocal: one.folder === null && !one.isTemplate, awaitsTrust: review.kind === 'python' && review.isConfigGenerated ? awaitsTrust : null }
    })
  }

  async create(caller: ConsoleCaller, target: ModelImportTarget): Promise<CommandResult<'import.create'>> {
    const one = this.#find(target.importId)
    const { server, readOm = omReader() } = this.#context
    const created = await this.#next(one, async () => {
      const repositoryPath = server.repositoryPaths[0]
      if (repositoryPath === undefined) throw new ServerError('UNAVAILABLE', 'no model repository is open: open a folder or the sample repository first')
      let told = 0
      return createImportedModel(await plan(one), {
        repositoryPath, modelName: target.modelName, version: target.asVersion ? 'next' : null, backend: target.backend, readOm, runsCode: await this.#runsCode(repositoryPath), signal: one.cancel.signal,
        mode: one.folder !== null ? 'move' : target.link && !one.isTemplate ? 'link' : 'copy',
        onProgress: (bytesDone, bytesTotal) => {
          const now = Date.now()
          if (now - told < PROGRESS_MILLISECONDS && bytesDone < bytesTotal) return
          told = now
          caller.sendEvent('import.progress', { importId: one.id, bytesDone, bytesTotal })
        },
      })
    })
    await this.close(one.id)
    await server.rescan()
    const model = server.modelSummaries().find(({ name }) => name === target.modelName)
    if (model === undefined) throw new ServerError('INTERNAL', `model '${target.modelName}' was written to ${created.path} but the rescan did not find it`)
    return { model, version: created.version, method: created.method }
  }

  /** A file that is dropped into a repository is trusted as much as that; without one there is nothing to trust yet. */
  async #runsCode(repositoryPath: string | null): Promise<boolean> {
    const { server } = this.#context
    return repositoryPath === null ? server.repositoryTrust.mode === 'all' : await server.untrustedPath(repositoryPath) === null
  }

  /** Cancels and removes. */
  async close(importId: string): Promise<void> {
    const one = this.#imports.get(importId)
    if (one === undefined) return
    this.#imports.delete(importId)
    one.cancel.abort()
    await one.queue.catch(() => {}) // who asked for that step was told
    for (const upload of one.uploads) await upload.handle?.close()
    if (one.folder !== null) await rm(one.folder, { recursive: true, force: true })
  }

  #find(importId: string): OpenImport {
    const one = this.#imports.get(importId)
    if (one === undefined) throw new ServerError('NOT_FOUND', 'This import is not open any more: it was cancelled, or the connection to the server ended. Import the files again.')
    return one
  }

  #next<T>(one: OpenImport, step: () => Promise<T>): Promise<T> {
    const previous = one.queue.catch(() => {}) // who asked for that step was told
    const turn = previous.then(() => {
      throwIfCancelled(one.cancel.signal)
      return step()
    }).catch((error: unknown) => { throw inUsersWords(error, one.folder) })
    one.queue = turn
    return turn
  }
}

/** Where uploads lie means nothing to the user: files are named as they were dropped. */
function inUsersWords(error: unknown, folder: string | null): unknown {
  if (folder === null || !(error instanceof ServerError) || !error.message.includes(folder + sep)) return error
  return new ServerError(error.kind, error.message.replaceAll(folder + sep, ''), { cause: error })
}

async function plan(one: OpenImport): Promise<ImportPlan> {
  const { folder } = one
  const unfinished = one.uploads.find(({ byteSize, received }) => received < byteSize)
  if (unfinished !== undefined) throw new ServerError('INVALID_ARG', `'${unfinished.path}' is not here completely: ${unfinished.received} of ${unfinished.byteSize} bytes`)
  if (folder === null) return planImport(one.localPaths)
  // What was dropped: files, or the one folder that all of them lie below.
  const dropped = [...new Set(one.uploads.map(({ path }) => path.split('/')[0] ?? ''))].map((name) => join(folder, name))
  return planImport([...one.localPaths, ...dropped], folder)
}
