import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** Where the console keeps its own data: `$XDG_DATA_HOME/npu-console`, else `~/.local/share/npu-console` (XDG base directories: relative values are ignored). */
export function userDataDirectory(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_DATA_HOME']
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.local', 'share'), 'npu-console')
}

/**
 * Where the desktop keeps its data unless it is started with `--user-data-dir`: Electron's `userData` on Linux, `$XDG_CONFIG_HOME` (else `~/.config`) and the name of package.json, which has no `productName`
 * (https://www.electronjs.org/docs/latest/api/app#appgetpathname).
 */
export function desktopDataDirectory(environment: NodeJS.ProcessEnv): string {
  const base = environment['XDG_CONFIG_HOME']
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), '.config'), 'npu-console')
}
