/** What the window does with repositories, from the command line: the sample repository, and importing a model file. */
import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { backendNames } from '../backends/backend-registry.ts'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { LogHub } from '../logger.ts'
import type { TransferMethod } from '../model-repository/file-transfer.ts'
import { planImport } from '../model-repository/import-plan.ts'
import { createImportedModel, reviewModelImport } from '../model-repository/model-import.ts'
import { templateDirectory } from '../model-repository/model-templates.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { ServerError } from '../server-error.ts'
import { CANN_FLAGS_USAGE, withOmReader } from './cann-flags.ts'
import { HelpRequested } from './parse-arguments.ts'
import { userDataDirectory } from './user-data-directory.ts'

export const REPOSITORY_COMMANDS_USAGE = `  sample-repository [--data-directory=DIR] [--with-python]
           make the sample repository in the user's data folder (once) and print its path; --with-python adds models that need a Python with numpy
  import FILE...|--template=NAME --model-repository=DIR [--name=NAME] [--version=next|N] [--backend=NAME] [--link]
           ${CANN_FLAGS_USAGE}
           put a model (.onnx, .om, model.py and the files that belong to it, or a folder with one) into a repository with a config.pbtxt
           made from it, and print the config; with --version add it to an existing model; or begin with a Python model of ours
           (bls_pipeline, numpy_processing, om_ais_bench, torch_npu, torchair)
`

type Print = (text: string) => void

/** @throws ServerError */
export async function sampleRepositoryCommand(args: readonly string[], print: Print): Promise<void> {
  const { values, switches } = parse(args, ['data-directory'], 0, ['with-python'])
  const dataDirectory = resolve(values['data-directory'] ?? userDataDirectory(process.env))
  print(await createSampleRepository(dataDirectory, {
    assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository'),
    ...(switches.has('with-python') ? { pythonAssetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository-python') } : {}),
  }))
}

/** What an import tells while it runs, and how it is called off. */
export interface ImportSurroundings {
  readonly signal: AbortSignal
  /** One line that replaces the one before; '' ends it. null: nobody watches. */
  readonly showProgress: ((line: string) => void) | null
}

const QUIET: ImportSurroundings = { signal: new AbortController().signal, showProgress: null }
const IMPORT_VALUES = ['template', 'model-repository', 'name', 'model-name', 'version', 'backend', 'npu', 'cann-set-env'] as const

/** @throws ServerError */
export async function importCommand(args: readonly string[], print: Print, { signal, showProgress }: ImportSurroundings = QUIET): Promise<void> {
  const { values, switches, positionals } = parse(args, IMPORT_VALUES, 'any', ['link'])
  const repository = values['model-repository']
  const { template } = values
  if (template !== undefined && (positionals.length > 0 || values.version !== undefined || switches.has('link'))) throw new ServerError('INVALID_ARG', '--template makes a new model of its own: leave FILE, --version and --link out')
  if (positionals.length === 0 && template === undefined) throw new ServerError('INVALID_ARG', 'the model file is missing: import FILE... --model-repository=DIR')
  if (repository === undefined) throw new ServerError('INVALID_ARG', 'import needs --model-repository=DIR: the folder that holds the model folders')
  const repositoryPath = resolve(repository)
  const existingNames = (await readdir(repositoryPath).catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `the model repository '${repositoryPath}' cannot be read: ${reasonOf(cause)}`, { cause })
  }))
  const plan = await planImport(template === undefined ? positionals.map((path) => resolve(path)) : [await templateDirectory(ASSETS_DIRECTORY, template)])
  const backend = values.backend ?? null
  const version = versionArgument(values.version)
  const { review, created, isNew } = await withOmReader({ npu: values.npu, cannSetEnv: values['cann-set-env'] }, process.env, async (readOm) => {
    const review = await reviewModelImport(plan, { repositoryPath, existingNames, backends: backendNames(new LogHub()), readOm }, backend)
    const modelName = values.name ?? values['model-name'] ?? (values.version === undefined ? review.modelName : review.existingModel?.name ?? review.modelName)
    const isNew = version === null || !existingNames.includes(modelName)
    if (version !== null && isNew && version !== 'next' && version !== 1) {
      throw new ServerError('NOT_FOUND', `there is no model '${modelName}' in '${repositoryPath}' that could get a version ${version}: a new model starts with version 1`)
    }
    const created = await createImportedModel(plan, {
      repositoryPath, modelName, backend, readOm, signal, version: isNew ? null : version, mode: switches.has('link') ? 'link' : 'copy',
      onProgress: showProgress === null ? () => {} : progressLine(showProgress),
    }).finally(() => showProgress?.(''))
    return { review, created, isNew }
  })
  const notes = [
    `model '${created.modelName}' version ${created.version} is in ${created.path} (${METHOD_WORDS[created.method]}: ${review.files.map(({ path }) => path).join(', ')})`,
    ...(switches.has('link') && created.method === 'copy' ? ['the file could not be linked (another file system, or no permission): it was copied'] : []),
    ...(review.leftOut.length === 0 ? [] : [`not taken, because the model does not ask for it: ${review.leftOut.join(', ')}`]),
    ...(isNew && review.signature !== 'complete' ? [`the tensors are not ${review.signature === 'names' ? 'described beyond their names' : 'known'}${review.signatureReason === null ? '' : ` (${review.signatureReason})`}: fill them in in config.pbtxt`] : []),
    ...(review.backends.some(({ name, isHere }) => name === review.backend && isHere) ? [] : [`this server has no backend '${review.backend}' yet: a load will fail until it has`]),
  ]
  print(isNew ? `${notes.join('\n')}\nits config.pbtxt:\n\n${review.configText}` : notes.join('\n'))
}

const METHOD_WORDS: Readonly<Record<TransferMethod, string>> = { reflink: 'blocks shared with the source', link: 'hard link to the source', copy: 'copied', move: 'moved' }

function versionArgument(text: string | undefined): number | 'next' | null {
  if (text === undefined || text === 'next') return text ?? null
  if (!/^(?:0|[1-9]\d{0,14})$/.test(text)) throw new ServerError('INVALID_ARG', `--version expects a whole number or 'next', got: ${text}`)
  return Number(text)
}

/** Bytes of all, percent and the time left, at most ten times a second. */
function progressLine(show: (line: string) => void): (done: number, total: number) => void {
  const started = performance.now()
  let shown = Number.NEGATIVE_INFINITY
  return (done, total) => {
    const now = performance.now()
    if (now - shown < 100 && done < total) return
    shown = now
    const secondsLeft = done === 0 ? null : Math.ceil((now - started) / 1000 * (total - done) / done)
    show(`${mebibytes(done)} of ${mebibytes(total)} MiB, ${total === 0 ? 100 : Math.floor(done / total * 100)} %${secondsLeft === null ? '' : `, ${secondsLeft} s left`}`)
  }
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}

/** @throws HelpRequested for `--help`; ServerError INVALID_ARG that says which argument and what was expected */
function parse<Name extends string, Switch extends string = never>(args: readonly string[], names: readonly Name[], positionalCount: 0 | 'any', switchNames: readonly Switch[] = []) {
  if (args.includes('--help') || args.includes('-h')) throw new HelpRequested()
  const options = Object.fromEntries([...names.map((name) => [name, { type: 'string' as const }]), ...switchNames.map((name) => [name, { type: 'boolean' as const }])])
  // Tokens instead of strict mode, whose texts are Node's: they speak of positional arguments and never of this command's flags.
  const { tokens, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true })
  const values: Partial<Record<Name, string>> = {}
  const switches = new Set<Switch>()
  const flags = [...names, ...switchNames].map((name) => `--${name}`)
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const switchName = switchNames.find((candidate) => candidate === token.name)
    const name = names.find((candidate) => candidate === token.name)
    if (switchName !== undefined) {
      if (token.value !== undefined) throw new ServerError('INVALID_ARG', `option '--${switchName}' takes no value`)
      switches.add(switchName)
      continue
    }
    if (name === undefined) throw new ServerError('INVALID_ARG', `unrecognized option '${token.rawName}'. This command knows ${flags.slice(0, -1).join(', ')}${flags.length > 1 ? ' and ' : ''}${flags.at(-1)}`)
    if (token.value === undefined || token.value === '') throw new ServerError('INVALID_ARG', `option '--${name}' requires a value`)
    values[name] = token.value
  }
  if (positionalCount === 0 && positionals[0] !== undefined) throw new ServerError('INVALID_ARG', `unexpected argument '${positionals[0]}'`)
  return { values, switches, positionals }
}

/** Why a path cannot be read, in words. */
function reasonOf(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT': return 'it does not exist'
    case 'ENOTDIR': return 'it is not a folder'
    case 'EISDIR': return 'it is a folder'
    case 'EACCES': case 'EPERM': return 'no permission'
    default: return error instanceof Error ? error.message : String(error)
  }
}
