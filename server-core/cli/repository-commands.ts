/** What the window does with repositories, from the command line: the sample repository, and importing a model file. */
import { readFile, readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { createImportedModel, reviewModelImport } from '../model-repository/model-import.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { ServerError } from '../server-error.ts'
import { HelpRequested } from './parse-arguments.ts'
import { userDataDirectory } from './user-data-directory.ts'

export const REPOSITORY_COMMANDS_USAGE = `  sample-repository [--data-directory=DIR]
           make the sample repository in the user's data folder (once) and print its path
  import FILE.onnx --model-repository=DIR [--model-name=NAME]
           put a model file into a repository with a config.pbtxt made from it, and print the config
`

type Print = (text: string) => void

/** @throws ServerError */
export async function sampleRepositoryCommand(args: readonly string[], print: Print): Promise<void> {
  const { values } = parse(args, ['data-directory'], 0)
  const dataDirectory = resolve(values['data-directory'] ?? userDataDirectory(process.env))
  print(await createSampleRepository(dataDirectory, { assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository') }))
}

/** @throws ServerError */
export async function importCommand(args: readonly string[], print: Print): Promise<void> {
  const { values, positionals } = parse(args, ['model-repository', 'model-name'], 1)
  const [file = ''] = positionals
  const repository = values['model-repository']
  if (repository === undefined) throw new ServerError('INVALID_ARG', 'import needs --model-repository=DIR: the folder that holds the model folders')
  const repositoryPath = resolve(repository)
  const existing = await readdir(repositoryPath).catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `the model repository '${repositoryPath}' cannot be read: ${reasonOf(cause)}`, { cause })
  })
  const data = await readFile(file).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `the model file '${file}' cannot be read: ${reasonOf(cause)}`, { cause }) })
  const fileName = basename(file)
  const review = reviewModelImport({ fileName, data }, existing)
  const modelName = values['model-name'] ?? review.modelName
  await createImportedModel({ repositoryPath, modelName, fileName, data })
  print(`model '${modelName}' is in ${join(repositoryPath, modelName)}; its config.pbtxt:\n\n${review.configText}`)
}

/** @throws HelpRequested for `--help`; ServerError INVALID_ARG that says which argument and what was expected */
function parse<Name extends string>(args: readonly string[], names: readonly Name[], positionalCount: 0 | 1) {
  if (args.includes('--help') || args.includes('-h')) throw new HelpRequested()
  const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]))
  // Tokens instead of strict mode, whose texts are Node's: they speak of positional arguments and never of this command's flags.
  const { tokens, positionals } = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true })
  const values: Partial<Record<Name, string>> = {}
  const flags = names.map((name) => `--${name}`).join(' and ')
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const name = names.find((candidate) => candidate === token.name)
    if (name === undefined) throw new ServerError('INVALID_ARG', `unrecognized option '${token.rawName}'. This command knows ${flags}`)
    if (token.value === undefined || token.value === '') throw new ServerError('INVALID_ARG', `option '--${name}' requires a value`)
    values[name] = token.value
  }
  if (positionals.length > positionalCount) throw new ServerError('INVALID_ARG', `unexpected argument '${positionals[positionalCount] ?? ''}'`)
  if (positionals.length < positionalCount) throw new ServerError('INVALID_ARG', 'the model file is missing: import FILE.onnx --model-repository=DIR')
  return { values, positionals }
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
