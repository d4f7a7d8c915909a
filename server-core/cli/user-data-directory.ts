import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Where the console keeps its own data: `$XDG_DATA_HOME/npu-console`, else `~/.local/share/npu-console` (XDG base directories: relative values are ignored). */
export function userDataDirectory(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_DATA_HOME']
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.local', 'share'), 'npu-console')
}
