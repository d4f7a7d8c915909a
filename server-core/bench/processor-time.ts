/** Processor time of processes, read from /proc. */
import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ of Linux, in which /proc counts processor time. */
const TICKS_PER_SECOND = 100

/** User and system time of all threads of a process, in seconds. */
export function processorSeconds(processId: number): number {
  const fields = statFields(processId) ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** The same of a process and of all that it started and that still run. */
export function processorSecondsOfTree(processId: number): number {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? statFields(Number(name))?.[1] : undefined
    if (parent !== undefined) children.set(Number(parent), [...(children.get(Number(parent)) ?? []), Number(name)])
  }
  const sum = (id: number): number => processorSeconds(id) + (children.get(id) ?? []).reduce((total, child) => total + sum(child), 0)
  return sum(processId)
}

/** From the state on, which follows the name; undefined where the process is gone. */
function statFields(processId: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${processId}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
