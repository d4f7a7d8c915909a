/** Starts the server as an Electron utility process. */
import { utilityProcess } from 'electron'
import type { MessageFromServer } from './server-messages.ts'
import type { ServerChild, ServerChildEvents } from './server-process.ts'

const LAST_WORDS_LENGTH = 2000

/** @param entryPath absolute path of `server-entry.mjs`, outside any archive: the server loads native code beside it */
export function forkServer(entryPath: string, events: ServerChildEvents, environment: NodeJS.ProcessEnv): ServerChild {
  const child = utilityProcess.fork(entryPath, [], { serviceName: 'npu-console server', stdio: 'pipe', env: environment })
  let lastWords = ''
  child.on('message', (message: MessageFromServer) => { events.message(message) })
  child.stdout?.on('data', (chunk: Buffer) => { process.stdout.write(chunk) })
  child.stderr?.on('data', (chunk: Buffer) => {
    process.stderr.write(chunk)
    lastWords = (lastWords + chunk.toString()).slice(-LAST_WORDS_LENGTH)
  })
  child.on('exit', (code) => { events.exit(code, lastErrorLine(lastWords)) })
  return {
    get processId() { return child.pid ?? 0 },
    send: (message) => { child.postMessage(message) },
    // UtilityProcess.kill() is a polite SIGTERM; a process that hangs needs the other one.
    kill: () => { killProcess(child.pid) },
  }
}

/** Node prints a stack and its version after the error itself. */
function lastErrorLine(text: string): string {
  const lines = text.trim().split('\n')
  return lines.findLast((line) => /error/i.test(line) && !/^\s+at /.test(line)) ?? lines.at(-1) ?? ''
}

function killProcess(processId: number | undefined): void {
  if (processId === undefined) return
  try {
    process.kill(processId, 'SIGKILL')
  } catch (error) {
    // It ended by itself in this moment; its exit is reported as any other.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
