/** Loaded before the module of a utility process: gives it `process.parentPort`. */
import { EventEmitter } from 'node:events'

class ParentPort extends EventEmitter {
  postMessage(message: unknown): void {
    process.send?.(message)
  }
}

const parentPort = new ParentPort()
const waiting: unknown[] = []
process.on('message', (data) => {
  // Electron keeps messages until somebody listens.
  if (parentPort.listenerCount('message') === 0) waiting.push(data)
  else parentPort.emit('message', { data, ports: [] })
})
parentPort.on('newListener', (event) => {
  if (event === 'message') queueMicrotask(() => { for (const data of waiting.splice(0)) parentPort.emit('message', { data, ports: [] }) })
})
process.on('disconnect', () => { process.exit(0) })
Object.defineProperty(process, 'parentPort', { value: parentPort })
