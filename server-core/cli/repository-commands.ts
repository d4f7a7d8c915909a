/** What the window does with repositories, from the command line: the sample repository, and importing a model file. */
import { readFile, readdir } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ASSETS_DIRECTORY } from '../installed-paths.ts'
import { createImportedModel, reviewModelImport } from '../model-repository/model-import.ts'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { ServerError } from '../server-error.ts'
import { userDataDirectory } from './user-data-directory.ts'

export const REPOSITORY_COMMANDS_USAGE = `  sample-repository [--data-directory=DIR]
           make the sample repository in the user's data folder (once) and print its path
  import FILE.onnx --model-repository=DIR [--model-name=NAME]
           put a model file into a repository with a config.pbtxt made from it, and print the config
`

type Print = (text: string) => void

/** @throws ServerError */
export async function sampleRepositoryCommand(args: readonly string[], print: Print): Promise<void> {
  const { values } = parse(args, { 'data-directory': { type: 'string' } }, 0)
  const dataDirectory = resolve(values['data-directory'] ?? userDataDirectory(process.env))
  print(await createSampleRepository(dataDirectory, { assetsDirectory: join(ASSETS_DIRECTORY, 'sample-repository') }))
}

/** @throws ServerError */
export async function importCommand(args: readonly string[], print: Print): Promise<void> {
  const { values, positionals } = parse(args, { 'model-repository': { type: 'string' }, 'model-name': { type: 'string' } }, 1)
  const [file = ''] = positionals
  const repository = values['model-repository']
  if (repository === undefined) throw new ServerError('INVALID_ARG', 'import needs --model-repository=DIR: the folder that holds the model folders')
  const repositoryPath = resolve(repository)
  const existing = await readdir(repositoryPath).catch((cause: unknown) => {
    throw new ServerError('NOT_FOUND', `the model repository '${repositoryPath}' cannot be read`, { cause })
  })
  const data = await readFile(file).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `the model file '${file}' cannot be read`, { cause }) })
  const fileName = basename(file)
  const review = reviewModelImport({ fileName, data }, existing)
  const modelName = values['model-name'] ?? review.modelName
  await createImportedModel({ repositoryPath, modelName, fileName, data })
  print(`model '${modelName}' is in ${join(repositoryPath, modelName)}; its config.pbtxt:\n\n${review.configText}`)
}

type Options = Readonly<Record<string, { readonly type: 'string' }>>

function parse<T extends Options>(args: readonly string[], options: T, positionalCount: number) {
  try {
    const parsed = parseArgs({ args: [...args], options, allowPositionals: positionalCount > 0 })
    if (parsed.positionals.length !== positionalCount) throw new Error(`expected ${positionalCount} file, got ${parsed.positionals.length}`)
    return { values: parsed.values as Partial<Record<keyof T & string, string>>, positionals: parsed.positionals }
  } catch (cause) {
    throw new ServerError('INVALID_ARG', cause instanceof Error ? cause.message : String(cause), { cause })
  }
}
