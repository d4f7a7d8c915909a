import { EventEmitter } from 'node:events'
import { expect, it } from 'vitest'
import type { WebSocket } from 'ws'
import { LogHub } from '../../logger.ts'
import type { ConsoleCommandHandlers } from './console-commands.ts'
import { ConsoleSession } from './console-session.ts'

class FakeSocket extends EventEmitter {
  readonly OPEN = 1
  readonly readyState = 1
  readonly bufferedAmount = 0
  readonly sent: unknown[] = []
  send(frame: string): void { this.sent.push(JSON.parse(frame)) }
}

it('sends an answer before the events that follow the state in it', () => {
  const socket = new FakeSocket()
  const handlers: Partial<ConsoleCommandHandlers> = { 'repository.models': () => [] }
  const session = new ConsoleSession(socket as unknown as WebSocket, handlers as ConsoleCommandHandlers, new LogHub().logger('console'))
  socket.emit('message', Buffer.from(JSON.stringify({ type: 'command', id: 1, name: 'repository.models' })), false)
  session.sendEvent('model.removed', { name: 'm' })
  expect(socket.sent).toEqual([{ type: 'result', id: 1, ok: true, value: [] }, { type: 'event', name: 'model.removed', value: { name: 'm' } }])
})
