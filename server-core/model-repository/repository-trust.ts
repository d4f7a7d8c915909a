/**
 * Which repositories may have their code run. A trusted repository is known by its real path, so that a link that leads elsewhere, or a folder that was moved, is asked about again. One small JSON
 * file in the user's data folder, read at every question: what another process changed counts at once. A file that cannot be understood trusts nobody.
 */
import { randomUUID } from 'node:crypto'
import { readFile, realpath, rename, stat, writeFile } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { RepositoryCode, RepositoryTrustReport, TrustedRepository } from '../contract/repository-trust.ts'
import type { Logger } from '../logger.ts'
import { makeDirectory } from '../make-directory.ts'
import { ServerError } from '../server-error.ts'

export interface RepositoryTrust {
  /** As far as this process knows. */
  readonly report: RepositoryTrustReport
  /** @returns the real path that is to be trusted before code of the repository runs; null: it is trusted */
  untrustedPath(repositoryPath: string): Promise<string | null>
  /** @param path as `untrustedPath` told it. @throws ServerError INVALID_ARG, NOT_FOUND, UNAVAILABLE */
  trust(path: string): Promise<void>
  /** @throws ServerError NOT_FOUND for one that is not trusted; UNAVAILABLE where that cannot be kept */
  revoke(path: string): Promise<void>
}

/** The server runs the code of what it is pointed at. */
export const TRUSTS_ALL: RepositoryTrust = {
  report: { mode: 'all', trusted: [] },
  untrustedPath: () => Promise.resolve(null),
  trust: () => { throw new ServerError('UNSUPPORTED', 'this server trusts every repository: start it with --repository-trust=ask to be asked') },
  revoke: () => { throw new ServerError('UNSUPPORTED', 'this server trusts every repository: start it with --repository-trust=ask to be asked') },
}

export const TRUST_FILE_NAME = 'trusted-repositories.json'

export class RepositoryTrustFile implements RepositoryTrust {
  readonly #dataDirectory: string
  readonly #log: Logger
  readonly #now: () => number
  #trusted: readonly TrustedRepository[] = []
  #isDamaged = false
  /** The changes that are on their way: one is written after the other. */
  #changes: Promise<unknown> = Promise.resolve()

  /** @param dataDirectory of the user; made when something is written */
  static async open(dataDirectory: string, log: Logger, now: () => number = Date.now): Promise<RepositoryTrustFile> {
    const trust = new RepositoryTrustFile(dataDirectory, log, now)
    await trust.#read()
    return trust
  }

  private constructor(dataDirectory: string, log: Logger, now: () => number) {
    this.#dataDirectory = dataDirectory
    this.#log = log
    this.#now = now
  }

  get report(): RepositoryTrustReport { return { mode: 'ask', trusted: this.#trusted } }

  async untrustedPath(repositoryPath: string): Promise<string | null> {
    const path = await realpath(repositoryPath).catch(() => null)
    // One that is not there has no code either; whoever reads it says so.
    if (path === null) return repositoryPath
    return (await this.#read()).some((trusted) => trusted.path === path) ? null : path
  }

  async trust(path: string): Promise<void> {
    if (!isAbsolute(path)) throw new ServerError('INVALID_ARG', `'${path}' is not an absolute path`)
    const real = await realpath(path).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `the repository '${path}' is not there any more`, { cause }) })
    if (real !== path) throw new ServerError('INVALID_ARG', `'${path}' leads to '${real}' now: look at that one, and trust it if it is the one you want`)
    if (!(await stat(real)).isDirectory()) throw new ServerError('INVALID_ARG', `'${path}' is a file: only the folder that holds the model folders can be trusted`)
    await this.#change((trusted) => (trusted.some((known) => known.path === real) ? trusted : [...trusted, { path: real, trustedAt: this.#now() }]))
    this.#log.info('a repository is trusted: code of its models runs from now on', { path: real })
  }

  async revoke(path: string): Promise<void> {
    await this.#change((trusted) => {
      if (!trusted.some((known) => known.path === path)) throw new ServerError('NOT_FOUND', `'${path}' is not among the trusted repositories`)
      return trusted.filter((known) => known.path !== path)
    })
    this.#log.info('a repository is not trusted any more: code of its models does not run', { path })
  }

  async #change(next: (trusted: readonly TrustedRepository[]) => readonly TrustedRepository[]): Promise<void> {
    const change = this.#changes.then(async () => {
      const before = await this.#read()
      const after = next(before)
      if (after !== before) await this.#write(after)
    })
    this.#changes = change.catch(() => {}) // who asked for it is told
    return change
  }

  get #path(): string { return join(this.#dataDirectory, TRUST_FILE_NAME) }

  async #read(): Promise<readonly TrustedRepository[]> {
    try {
      const entries: unknown = JSON.parse(await readFile(this.#path, 'utf8'))
      if (!Array.isArray(entries) || !entries.every(isTrustedRepository)) throw new Error('it is no list of repositories')
      this.#trusted = entries.map(({ path, trustedAt }) => ({ path, trustedAt }))
      this.#isDamaged = false
    } catch (error) {
      this.#trusted = []
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#trusted
      if (!this.#isDamaged) this.#log.error('the list of trusted repositories cannot be read, so that none is trusted: trust those that you want again', { path: this.#path, error: String(error) })
      this.#isDamaged = true
    }
    return this.#trusted
  }

  async #write(trusted: readonly TrustedRepository[]): Promise<void> {
    try {
      await makeDirectory(this.#dataDirectory, 'data directory', 0o700)
      if (this.#isDamaged) await rename(this.#path, `${this.#path}.unreadable`)
      const temporary = `${this.#path}.${randomUUID()}`
      await writeFile(temporary, `${JSON.stringify(trusted, undefined, 2)}\n`, { mode: 0o600, flush: true })
      await rename(temporary, this.#path)
    } catch (error) {
      if (error instanceof ServerError) throw error
      throw new ServerError('UNAVAILABLE', `the list of trusted repositories '${this.#path}' cannot be written: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
    this.#trusted = trusted
    this.#isDamaged = false
  }
}

function isTrustedRepository(value: unknown): value is TrustedRepository {
  const entry = value as Partial<Record<keyof TrustedRepository, unknown>> | null
  return typeof entry === 'object' && entry !== null && typeof entry.path === 'string' && isAbsolute(entry.path) && typeof entry.trustedAt === 'number'
}

/** A model does not load because code of it would run that nobody trusted yet. */
export class RepositoryNotTrusted extends ServerError {
  /** The real path to trust; null: the code came with the load request, and no trust of a repository makes it run. */
  readonly repositoryPath: string | null

  constructor(model: string, code: RepositoryCode, repositoryPath: string | null) {
    super('UNAVAILABLE', notTrustedText(model, code, repositoryPath))
    this.repositoryPath = repositoryPath
  }
}

/** The reason in the index, with the next step. */
export function notTrustedText(model: string, code: RepositoryCode, repositoryPath: string | null): string {
  const what = code === 'python' ? 'Python code' : 'a library that lies beside it'
  return repositoryPath === null
    ? `model '${model}' runs ${what} that came with the load request, which this server does not run: put it into a model repository, and trust that in the console`
    : `model '${model}' runs ${what} with your rights, and its repository '${repositoryPath}' is not trusted: trust it in the console (page Models), or start the server with --repository-trust=all`
}
