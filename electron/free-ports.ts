/** Which of the wanted ports can be had: one in use is replaced by a free one, and said so. */
import { createServer } from 'node:net'
import type { PortFallback, PortName, Ports } from './server-messages.ts'

/** True when nothing listens on the port and it may be bound. Port 0 always can. */
export function canListen(port: number, address: string): Promise<boolean> {
  if (port === 0) return Promise.resolve(true)
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => { resolve(false) })
    probe.listen({ port, host: address, exclusive: true }, () => { probe.close(() => { resolve(true) }) })
  })
}

/** The wanted ports with 0 (any free one) in place of those that are taken. */
export async function availablePorts(wanted: Ports, isAvailable: (name: PortName, port: number) => Promise<boolean>): Promise<Ports> {
  const names = Object.keys(wanted) as PortName[]
  const available = await Promise.all(names.map((name) => isAvailable(name, wanted[name])))
  return Object.fromEntries(names.map((name, index) => [name, available[index] === true ? wanted[name] : 0])) as Record<PortName, number>
}

/** The ports that were asked for and are not the ones in use now. */
export function portFallbacks(wanted: Ports, used: Ports): readonly PortFallback[] {
  return (Object.keys(wanted) as PortName[])
    .filter((name) => wanted[name] !== 0 && wanted[name] !== used[name])
    .map((name) => ({ name, requested: wanted[name], used: used[name] }))
}
