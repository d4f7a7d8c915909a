/** `npu-console config ...`: checks, formats, generates and explains configs without a server. */
import { parseArgs } from 'node:util'
import type { ParseArgsOptionsConfig } from 'node:util'
import { applyPreferredFixes } from '../model-config/apply-fixes.ts'
import { checkConfig } from '../model-config/check-config.ts'
import { applyEdits } from '../model-config/config-edit.ts'
import { formatConfig } from '../model-config/format-config.ts'
import { GENERATOR_BACKENDS, generateConfigFromFile } from '../model-config/generate-from-file.ts'
import type { OmReader } from '../model-config/om-passport.ts'
import { toServerError } from '../server-error.ts'
import { CANN_FLAGS_USAGE, withOmReader } from './cann-flags.ts'
import type { CannFlags } from './cann-flags.ts'
import { diffConfigs, explainConfig } from './config-explain.ts'
import type { ConfigLanguage } from './config-explain.ts'
import { contextOf, findConfigTargets, isReadable, writeTarget } from './config-targets.ts'
import type { ConfigTarget } from './config-targets.ts'
import { languageOf, printFindings, unreadable } from './findings.ts'
import type { FileFinding } from './findings.ts'
import { UsageError } from './usage-error.ts'

export const CONFIG_COMMAND_USAGE = `  config check [--json] [--syntax-only] [--fix] [--disable-auto-complete-config] ${CANN_FLAGS_USAGE} PATH...
           say what is wrong with configs, and what repairs them; CANN is asked about .om files
  config format [--check] PATH...
           indent and space configs; comments and order stay
  config generate MODEL_FILE --backend NAME ${CANN_FLAGS_USAGE}
           print a config for a model file (backends: ${Object.keys(GENERATOR_BACKENDS).join(', ')}); CANN is asked about an .om file
  config explain PATH...
           say what each field means and what the server adds
  config diff PATH [OTHER]
           compare a config with what the server makes of it, or two configs with each other
           A PATH is a config file, a model's folder or a whole repository. --language=en|zh-CN (default: from LANG).
           Exit code: 0 clean, 1 errors found, 2 wrong usage.
`

export interface CommandOutput {
  readonly print: (text: string) => void
  readonly printError: (text: string) => void
}

/**
 * @param environment LC_ALL, LC_MESSAGES and LANG choose the language where `--language` does not
 * @returns the exit code: 0 clean, 1 findings of severity error (or what could not be done), 2 usage
 */
export async function configCommand(args: readonly string[], environment: NodeJS.ProcessEnv, output: CommandOutput): Promise<number> {
  const [verb, ...rest] = args
  const command = verb !== undefined && Object.hasOwn(VERBS, verb) ? VERBS[verb] : undefined
  try {
    if (command === undefined) throw new UsageError(verb === undefined ? 'expected check, format, generate, explain or diff' : `unknown command 'config ${verb}'`)
    const { values, positionals } = parse(rest, command.options)
    return await command.run({ values, positionals, language: languageOf(values['language'], environment), environment, ...output })
  } catch (error) {
    if (error instanceof UsageError) {
      output.printError(`npu-console config: ${error.message}\n${CONFIG_COMMAND_USAGE}`)
      return 2
    }
    const { kind, message } = toServerError(error)
    output.printError(`npu-console config ${verb ?? ''}: ${message}`)
    // A path that is not there is a wrong command line, not a finding.
    return kind === 'NOT_FOUND' ? 2 : 1
  }
}

interface Call extends CommandOutput {
  readonly values: Readonly<Record<string, string | boolean | undefined>>
  readonly positionals: readonly string[]
  readonly language: ConfigLanguage
  readonly environment: NodeJS.ProcessEnv
}

interface Verb {
  readonly options: ParseArgsOptionsConfig
  run(call: Call): Promise<number>
}

const CANN_OPTIONS = { npu: { type: 'string' }, 'cann-set-env': { type: 'string' } } as const

const VERBS: Readonly<Record<string, Verb>> = {
  check: { options: { json: { type: 'boolean' }, 'syntax-only': { type: 'boolean' }, fix: { type: 'boolean' }, 'disable-auto-complete-config': { type: 'boolean' }, ...CANN_OPTIONS }, run: check },
  format: { options: { check: { type: 'boolean' } }, run: format },
  generate: { options: { backend: { type: 'string' }, ...CANN_OPTIONS }, run: generate },
  explain: { options: {}, run: explain },
  diff: { options: {}, run: diff },
}

function parse(args: readonly string[], options: ParseArgsOptionsConfig): Pick<Call, 'values' | 'positionals'> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: { ...options, language: { type: 'string' } }, allowPositionals: true })
    return { values: values as Call['values'], positionals }
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

async function foundConfigs({ positionals }: Call): Promise<Awaited<ReturnType<typeof findConfigTargets>>> {
  if (positionals.length === 0) throw new UsageError('which PATH?')
  return findConfigTargets(positionals)
}

/** Of a command that begins only where every config can be read. */
async function targetsOf(call: Call): Promise<ConfigTarget[]> {
  return (await foundConfigs(call)).map(readable)
}

function readable(found: Awaited<ReturnType<typeof findConfigTargets>>[number]): ConfigTarget {
  if (!isReadable(found)) throw found.error
  return found
}

async function check(call: Call): Promise<number> {
  return withOmReader(cannFlags(call), call.environment, (readOm) => checkWith(call, readOm))
}

async function checkWith(call: Call, readOm: OmReader): Promise<number> {
  const { values, language, print } = call
  const options = { syntaxOnly: values['syntax-only'] === true }
  const found: FileFinding[] = []
  let applied = 0
  const targets = await foundConfigs(call)
  for (const target of targets) {
    if (!isReadable(target)) {
      found.push({ file: target.file, diagnostic: unreadable(target.error) })
      continue
    }
    const context = await contextOf(target, { isAutoCompleteOff: values['disable-auto-complete-config'] === true, readOm })
    let diagnostics = checkConfig(target.text, context, options)
    if (values['fix'] === true && target.hash !== null) {
      const fixed = applyPreferredFixes(target.text, context, options)
      if (fixed.text !== target.text) await writeTarget(target, fixed.text)
      diagnostics = fixed.diagnostics
      applied += fixed.applied
    }
    found.push(...diagnostics.map((diagnostic) => ({ file: target.file, diagnostic })))
  }
  return printFindings(found, { what: 'config', files: targets.length, applied, isJson: values['json'] === true, language, print })
}

async function format(call: Call): Promise<number> {
  const { values, language, print } = call
  const isCheck = values['check'] === true
  let unformatted = 0
  for (const target of await targetsOf(call)) {
    const edits = target.hash === null ? [] : formatConfig(target.text)
    if (edits.length === 0) continue
    unformatted++
    if (!isCheck) await writeTarget(target, applyEdits(target.text, edits))
    print(isCheck
      ? `${target.file}: ${language === 'en' ? 'not formatted' : '未格式化'}`
      : `${target.file}: ${language === 'en' ? 'formatted' : '已格式化'}`)
  }
  return isCheck && unformatted > 0 ? 1 : 0
}

function cannFlags({ values }: Call): CannFlags {
  const textOf = (value: string | boolean | undefined) => (typeof value === 'string' ? value : undefined)
  return { npu: textOf(values['npu']), cannSetEnv: textOf(values['cann-set-env']) }
}

async function generate(call: Call): Promise<number> {
  const { values, positionals, environment, print } = call
  const [file] = positionals
  const backend = values['backend']
  if (file === undefined || positionals.length > 1) throw new UsageError('generate takes one MODEL_FILE')
  if (typeof backend !== 'string') throw new UsageError(`generate needs --backend NAME: ${Object.keys(GENERATOR_BACKENDS).join(', ')}`)
  if (!Object.hasOwn(GENERATOR_BACKENDS, backend)) throw new UsageError(`no config can be made for the backend '${backend}': ${Object.keys(GENERATOR_BACKENDS).join(', ')}`)
  const text = await withOmReader(cannFlags(call), environment, (readOm) => generateConfigFromFile(file, backend, { readOm }))
  print(text.replace(/\n$/, ''))
  return 0
}

async function explain(call: Call): Promise<number> {
  let code = 0
  for (const target of await targetsOf(call)) {
    const { text, isReadable } = await explainConfig(target, call.language)
    call.print(text)
    if (!isReadable) code = 1
  }
  return code
}

async function diff(call: Call): Promise<number> {
  if (call.positionals.length > 2) throw new UsageError('diff takes one PATH, or two to compare')
  const [first, second] = call.positionals
  if (first !== undefined && second !== undefined) {
    const [[left, ...moreLeft], [right, ...moreRight]] = [(await findConfigTargets([first])).map(readable), (await findConfigTargets([second])).map(readable)]
    if (left === undefined || right === undefined || moreLeft.length + moreRight.length > 0) throw new UsageError('diff compares two configs: each PATH must be one')
    const result = await diffConfigs(left, right, call.language)
    for (const line of result.lines) call.print(line)
    return result.isReadable ? 0 : 1
  }
  const targets = await targetsOf(call)
  let code = 0
  for (const target of targets) {
    const result = await diffConfigs(target, null, call.language)
    if (targets.length > 1) call.print(`${target.file}:`)
    for (const line of result.lines) call.print(line)
    if (!result.isReadable) code = 1
  }
  return code
}
