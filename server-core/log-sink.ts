import { openSync, writeSync } from 'node:fs'
import { formatLogEntry } from './log-format.ts'
import type { LogHub } from './logger.ts'
import { ServerError } from './server-error.ts'

/**
 * Prints every entry from now on: to the end of the log file of the settings, or to standard error. Lines of a file are written at once, so
 * that the last ones before a crash are there.
 * @returns ends it
 * @throws ServerError INVALID_ARG when the file cannot be opened
 */
export function printLog(logs: LogHub): () => void {
  const { file } = logs.settings
  const write = file === '' ? (line: string) => { process.stderr.write(line) } : fileWriter(file)
  return logs.addSink((entry) => { write(`${formatLogEntry(entry, process.pid, logs.settings.format)}\n`) })
}

/** A line that the disk does not take (it is full, say) goes to standard error, with the reason in front of the first one. */
function fileWriter(path: string): (line: string) => void {
  const file = openLog(path)
  let hasFailed = false
  return (line) => {
    try {
      writeSync(file, line)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) process.stderr.write(`cannot write to the log file '${path}': ${error instanceof Error ? error.message : String(error)}\n`)
      hasFailed = true
      process.stderr.write(line)
    }
  }
}

function openLog(path: string): number {
  try {
    return openSync(path, 'a')
  } catch (error) {
    throw new ServerError('INVALID_ARG', `--log-file: cannot open '${path}': ${error instanceof Error ? error.message : String(error)}. Name a file in a directory that exists and that this user may write to`, { cause: error })
  }
}
