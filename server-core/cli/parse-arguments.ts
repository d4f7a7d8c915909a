import { DEFAULT_SERVER_OPTIONS, serverOptions, type ServerOptions } from '../options.ts'
import { ServerError } from '../server-error.ts'
import type { Flag } from './flag-values.ts'
import { groupedFlags } from './flag-groups.ts'
import { SERVE_FLAGS } from './flags.ts'

/** Thrown for `--help`: the usage is the answer, on standard output. */
export class HelpRequested extends Error {}

const FLAGS_BY_NAME = new Map<string, Flag>(SERVE_FLAGS.flatMap((flag) => flag.names.map((name): [string, Flag] => [name, flag])))
const BOOLEAN_WORDS = new Set(['true', 'false', '1', '0'])

/**
 * The options of `serve [flags]`; `--flag=value` and `--flag value` alike. A boolean flag alone means true.
 * @throws ServerError INVALID_ARG that names the flag
 */
export function parseServeArguments(args: readonly string[]): ServerOptions {
  const draft: { -readonly [K in keyof ServerOptions]: ServerOptions[K] } = { ...DEFAULT_SERVER_OPTIONS }
  const given = flagsIn(args)
  for (const { flag, name, text } of given) flag.set(draft, text, name)
  const has = (wanted: string) => given.some(({ name }) => name === wanted)
  if (!has('--metrics-address') && draft.allowHttp) draft.metricsAddress = draft.httpAddress
  // The console alone opens repositories later, which takes explicit mode.
  if (draft.console && draft.modelRepositories.length === 0 && !has('--model-control-mode')) draft.modelControlMode = 'explicit'
  if (draft.modelRepositories.length === 0 && !(draft.console && draft.modelControlMode === 'explicit')) {
    throw new ServerError('INVALID_ARG', '--model-repository must be specified (only with --console and --model-control-mode=explicit is it chosen later)')
  }
  try {
    return serverOptions(draft)
  } catch (error) {
    throw new ServerError('INVALID_ARG', `Error: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

export interface GivenFlag {
  readonly flag: Flag
  /** As it was written: a flag may have several. */
  readonly name: string
  readonly text: string
}

/** The flags in their order, each with its value. @throws ServerError INVALID_ARG, HelpRequested */
export function flagsIn(args: readonly string[]): readonly GivenFlag[] {
  const found: GivenFlag[] = []
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? ''
    if (argument === '--help' || argument === '-h') throw new HelpRequested()
    const equals = argument.indexOf('=')
    const name = equals < 0 ? argument : argument.slice(0, equals)
    const flag = FLAGS_BY_NAME.get(name)
    if (flag === undefined) {
      throw new ServerError('INVALID_ARG', argument.startsWith('-') ? `unrecognized option '${name}'` : `unexpected argument '${argument}'`)
    }
    let text: string | undefined
    if (equals >= 0) text = argument.slice(equals + 1)
    else if (flag.value !== '') text = args[++index]
    else if (BOOLEAN_WORDS.has((args[index + 1] ?? '').toLowerCase())) text = args[++index]
    else text = 'true'
    if (text === undefined) throw new ServerError('INVALID_ARG', `option '${name}' requires an argument`)
    // An unset variable (--http-address=$ADDRESS) must not open every address or serve the working directory.
    if (text === '') throw new ServerError('INVALID_ARG', `option '${name}' has an empty value. Give it one, or leave the flag out`)
    found.push({ flag, name, text })
  }
  return found
}

/** What `--help` and a wrong flag print. */
export function serveUsage(): string {
  const rows = (flags: readonly Flag[]) => flags.map((flag) => `  ${flag.names.map((name) => (flag.value === '' ? name : `${name} ${flag.value}`)).join(', ')}\n      ${flag.help}`)
  return ['Usage: npu-console serve [flags]', ...groupedFlags(SERVE_FLAGS).flatMap(({ title, flags }) => ['', `${title}:`, ...rows(flags)]), ''].join('\n')
}
