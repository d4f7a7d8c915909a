import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { WebSocket } from 'ws'
import type { ServerMessage } from '../../contract/console-api.ts'
import { LogHub } from '../../logger.ts'
import { RawConnection } from '../../testing/http-client.ts'
import { InMemoryInferenceServer, inMemoryModel } from '../../testing/in-memory-inference-server.ts'
import { idleDevices, noSimulation } from '../../testing/test-devices.ts'
import type { Frontend } from '../frontend.ts'
import { startConsoleFrontend } from './console-frontend.ts'

const TOKEN = 'a-fixed-token-of-this-test'
let directory: string
let frontend: Frontend
let cookie: string

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'console-frontend-'))
  const logs = new LogHub()
  const server = new InMemoryInferenceServer([inMemoryModel('fp32', [{ name: 'INPUT0', datatype: 'FP32', dims: [-1] }])])
  frontend = await startConsoleFrontend({
    server, logs, log: logs.logger('console'), status: () => { throw new Error('not asked for here') }, address: '127.0.0.1', port: 0, token: TOKEN,
    rendererDirectory: directory, dataDirectory: join(directory, 'data'), assetsDirectory: directory, backends: [], devices: idleDevices(), simulation: noSimulation(), restart: null, announceLink: () => {},
  })
  const answer = await fetch(`http://127.0.0.1:${frontend.port}/?token=${TOKEN}`, { redirect: 'manual' })
  cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
})

afterEach(async () => {
  await frontend.stop(0)
  rmSync(directory, { recursive: true, force: true })
})

const upgrade = (token: string) => `GET /console?token=${token} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
  + 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

function connected(options: { allowHalfOpen?: boolean } = {}): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ port: frontend.port, host: '127.0.0.1', ...options }, () => { resolve(socket) })
    socket.on('error', () => {})
  })
}

describe('refused console connections', () => {
  it('survives clients that reset theirs', async () => {
    for (let index = 0; index < 60; index++) {
      const socket = await connected()
      socket.write(upgrade('wrong'))
      if (index % 2 === 0) await new Promise((resolve) => { setTimeout(resolve, 1) })
      socket.resetAndDestroy()
    }
    const raw = new RawConnection(frontend.port)
    raw.write(upgrade('wrong'))
    expect((await raw.untilClosed()).toString()).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('are closed even when the client keeps its end open', async () => {
    const socket = await connected({ allowHalfOpen: true })
    socket.resume()
    const ended = new Promise((resolve) => { socket.once('end', resolve) })
    socket.write(upgrade('wrong'))
    await ended
    const stopped = frontend.stop(0).then(() => 'stopped')
    expect(await Promise.race([stopped, new Promise((resolve) => { setTimeout(resolve, 4000, 'still open') })])).toBe('stopped')
    socket.destroy()
  })
})

describe('console commands', () => {
  it('refuses names that are none, those that every object inherits included', async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${frontend.port}/console?token=${TOKEN}`)
    const answers: unknown[] = []
    const names = ['nothing', '', 'constructor', 'toString', '__proto__', '__defineGetter__']
    await new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const message = JSON.parse(String(data)) as ServerMessage
        if (message.type === 'result' && answers.push(message) === names.length) resolve()
      })
      socket.on('open', () => { names.forEach((name, id) => { socket.send(JSON.stringify({ type: 'command', id, name, args: {} })) }) })
    })
    expect(answers).toEqual(names.map((name, id) => (
      { type: 'result', id, ok: false, error: { kind: 'INVALID_ARG', message: `there is no console command '${name}'` } })))
    socket.terminate()
  })
})

describe.skipIf(process.platform !== 'linux')('files of the window', () => {
  it('are closed when the window goes away in the middle', async () => {
    const file = join(directory, 'large.js')
    writeFileSync(file, Buffer.alloc(32 * 1024 * 1024))
    const openFiles = () => readdirSync('/proc/self/fd').filter((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`) === file
      } catch {
        return false
      }
    })
    for (let index = 0; index < 3; index++) {
      const socket = await connected()
      socket.write(`GET /large.js HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: ${cookie}\r\n\r\n`)
      await new Promise((resolve) => { socket.once('data', resolve) })
      expect(openFiles()).toHaveLength(1)
      socket.destroy()
      await vi.waitFor(() => { expect(openFiles()).toHaveLength(0) }, 3000)
    }
  })
})
