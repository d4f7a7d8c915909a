/** `npu-console code ...`: what is likely wrong with model.py files, without a server. */
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { CodeContext } from '../contract/model-code.ts'
import { applyPreferredCodeFixes, checkModelCode, EMPTY_CODE_CONTEXT } from '../model-code/check-model-code.ts'
import { readConfigFile, writeConfigFile } from '../model-repository/config-file.ts'
import { findModelCode } from '../model-repository/model-code-files.ts'
import { listDirectory } from '../model-repository/model-directory.ts'
import { ServerError, toServerError } from '../server-error.ts'
import type { CommandOutput } from './config-command.ts'
import { languageOf, printFindings, unreadable } from './findings.ts'
import type { FileFinding } from './findings.ts'
import { UsageError } from './usage-error.ts'

export const CODE_COMMAND_USAGE = `  code check [--json] [--fix] [--language=en|zh-CN] PATH...
           say what is likely wrong with model.py files (cards and paths written into the code, responses that are missing, card memory that nobody
           frees), and what repairs it; a PATH is a .py file, a model's folder or a whole repository. Exit code: 0 clean, 1 errors found, 2 wrong usage.
`

interface CodeTarget {
  /** As printed. */
  readonly file: string
  /** Absolute. */
  readonly path: string
  readonly context: CodeContext
}

/** @returns the exit code: 0 clean, 1 findings of severity error (or what could not be done), 2 usage */
export async function codeCommand(args: readonly string[], environment: NodeJS.ProcessEnv, output: CommandOutput): Promise<number> {
  const [verb, ...rest] = args
  try {
    if (verb !== 'check') throw new UsageError(verb === undefined ? 'expected check' : `unknown command 'code ${verb}'`)
    return await check(rest, environment, output)
  } catch (error) {
    if (error instanceof UsageError) {
      output.printError(`npu-console code: ${error.message}\n${CODE_COMMAND_USAGE}`)
      return 2
    }
    const { kind, message } = toServerError(error)
    output.printError(`npu-console code ${verb ?? ''}: ${message}`)
    return kind === 'NOT_FOUND' ? 2 : 1
  }
}

async function check(args: readonly string[], environment: NodeJS.ProcessEnv, { print }: CommandOutput): Promise<number> {
  const { values, positionals } = parse(args)
  const language = languageOf(values.language, environment)
  if (positionals.length === 0) throw new UsageError('which PATH?')
  const targets = (await Promise.all(positionals.map(targetsOf))).flat()
  const found: FileFinding[] = []
  let applied = 0
  for (const { file, path, context } of targets) {
    try {
      const { text, hash } = await readConfigFile(path)
      if (text === null) throw new ServerError('NOT_FOUND', `there is no '${file}'`)
      const fixed = values.fix === true ? applyPreferredCodeFixes(text, context) : null
      if (fixed !== null && fixed.text !== text) {
        const result = await writeConfigFile({ modelDirectory: dirname(path), repositoryPath: dirname(dirname(dirname(path))), fileName: basename(path), text: fixed.text, baseHash: hash })
        if (result.kind === 'conflict') throw new ServerError('UNAVAILABLE', `'${file}' changed while it was looked at; run the command again`)
        applied += fixed.applied
      }
      found.push(...(fixed?.diagnostics ?? checkModelCode(text, context)).map((diagnostic) => ({ file, diagnostic })))
    } catch (error) {
      found.push({ file, diagnostic: unreadable(toServerError(error)) })
    }
  }
  return printFindings(found, { what: 'model.py', files: targets.length, applied, isJson: values.json === true, language, print })
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { json: { type: 'boolean' }, fix: { type: 'boolean' }, language: { type: 'string' } }, allowPositionals: true })
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

/** @throws ServerError NOT_FOUND for a path that is not there or has no model.py below it */
async function targetsOf(path: string): Promise<CodeTarget[]> {
  const information = await stat(path).catch((cause: unknown) => { throw new ServerError('NOT_FOUND', `there is no '${path}'`, { cause }) })
  if (!information.isDirectory()) return [await fileTarget(path)]
  const own = await modelTargets(path)
  const below = own.length > 0 ? own : (await Promise.all((await listDirectory(path)).filter(({ isDirectory, name }) => isDirectory && !name.startsWith('.')).map(({ name }) => modelTargets(join(path, name))))).flat()
  if (below.length === 0) throw new ServerError('NOT_FOUND', `'${path}' is neither a Python model's folder nor a repository with one`)
  return below
}

async function modelTargets(directory: string): Promise<CodeTarget[]> {
  return (await findModelCode(resolve(directory))).map(({ name, path, context }) => ({ file: join(directory, name), path, context }))
}

/** A file that lies in a model's version is judged as such. */
async function fileTarget(file: string): Promise<CodeTarget> {
  const path = resolve(file)
  const modelDirectory = dirname(dirname(path))
  const known = /^\d+$/.test(basename(dirname(path))) ? (await findModelCode(modelDirectory)).find((other) => other.path === path) : undefined
  return { file, path, context: known?.context ?? EMPTY_CODE_CONTEXT }
}
