/** Environments that shell scripts make: CANN's `set_env.sh`, the `bin/activate` of Python environments. */
import type { RunTool } from './telemetry/run-tool.ts'

export interface ScriptRun {
  readonly run: RunTool
  /** Absolute paths of scripts, sourced one after another. */
  readonly paths: readonly string[]
  /** What they start with. */
  readonly environment: NodeJS.ProcessEnv
  readonly timeoutMilliseconds: number
}

export interface SourcedEnvironment {
  /** What the scripts set or changed, as it is afterwards. */
  readonly variables: Readonly<Record<string, string>>
  /** Names of variables that they took away. */
  readonly unset: readonly string[]
  /** Null: each ran to its end. */
  readonly problem: { readonly kind: 'timeout' } | { readonly kind: 'failed'; readonly exitCode: number | null; readonly said: string } | null
}

/** A shell's own. */
const IGNORED = new Set(['_', 'SHLVL', 'PWD', 'OLDPWD', 'BASHOPTS', 'SHELLOPTS'])
const SCRIPT = 'code=0; for path in "$@"; do . "$path" >/dev/null; code=$?; [ "$code" = 0 ] || break; done; env -0; exit $code'

/** Runs them in a bash of its own. Changes nothing here. @throws what `spawn` throws: there is no bash */
export async function sourceScripts({ run, paths, environment, timeoutMilliseconds }: ScriptRun): Promise<SourcedEnvironment> {
  const result = await run({ command: '/bin/bash', args: ['--noprofile', '--norc', '-c', SCRIPT, 'bash', ...paths], environment, timeoutMilliseconds })
  if (result.isTimedOut) return { variables: {}, unset: [], problem: { kind: 'timeout' } }
  const after = new Map(result.stdout.split('\0').flatMap((entry): [string, string][] => {
    const equals = entry.indexOf('=')
    return equals <= 0 || IGNORED.has(entry.slice(0, equals)) ? [] : [[entry.slice(0, equals), entry.slice(equals + 1)]]
  }))
  return {
    variables: Object.fromEntries([...after].filter(([name, value]) => environment[name] !== value)),
    // One that ended before it told anything took nothing away.
    unset: after.size === 0 ? [] : Object.keys(environment).filter((name) => !IGNORED.has(name) && environment[name] !== undefined && !after.has(name)),
    problem: result.exitCode === 0 ? null : { kind: 'failed', exitCode: result.exitCode, said: result.stderr.trim().split('\n')[0] ?? '' },
  }
}
