/** Binds threads to processors where a host policy says so. Linux only; through `taskset`, since Node has no call for it. */
import { execFileSync } from 'node:child_process'
import { readFileSync, readlinkSync } from 'node:fs'
import { processorsOf } from '../model/host-policy.ts'
import type { HostPolicy } from './backend.ts'

/**
 * Binds the calling thread; threads that it makes from now on inherit that. A policy without processors leaves it alone.
 * @throws Error that says what is missing on this machine
 */
export function bindCurrentThread({ name, cpuList }: Pick<HostPolicy, 'name' | 'cpuList'>, command = 'taskset'): void {
  if (cpuList === null) return
  const fail = (reason: string, cause?: unknown): never => { throw new Error(`host policy '${name}' cannot bind a thread to the processors ${cpuList}: ${reason}`, { cause }) }
  // "<process id>/task/<thread id>": a synchronous call answers for the thread that makes it.
  const threadId = readlinkSync('/proc/thread-self').split('/').at(-1) ?? ''
  try {
    execFileSync(command, ['--cpu-list', '--pid', cpuList, threadId], { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  } catch (error) {
    const { code, stderr } = error as { readonly code?: string; readonly stderr?: string }
    if (code === 'ENOENT') fail(`${command} is not installed. Install the package util-linux, or start the server without --host-policy=${name},...`, error)
    fail(`${(stderr ?? '').trim() || String(error)}. Change --host-policy; nproc --all and taskset -p $$ say what there is`, error)
  }
  const allowed = allowedProcessors(threadId)
  const missing = [...processorsOf(cpuList)].filter((processor) => !processorsOf(allowed).has(processor))
  if (missing.length > 0) fail(`of these the machine lets this process use only ${allowed}. Change --host-policy`)
}

/** Processors that a thread of this process may use, as the kernel writes them (`0-3,8`). */
export function allowedProcessors(threadId: string): string {
  return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/self/task/${threadId}/status`, 'utf8'))?.[1] ?? ''
}
