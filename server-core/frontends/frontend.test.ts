import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { listen } from './frontend.ts'

describe('listen', () => {
  it('lives on when a connection cannot be accepted', async () => {
    const server = createServer()
    await listen(server, '127.0.0.1', 0, '--http-port')
    expect(() => server.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS', syscall: 'accept' }))).not.toThrow()
    await new Promise((resolve) => { server.close(resolve) })
  })

  it('shares a port with those that want to share it, and with nobody else', async () => {
    const [first, second, third] = [createServer(), createServer(), createServer()] as const
    const { port } = await listen(first, '127.0.0.1', 0, '--http-port', true)
    await listen(second, '127.0.0.1', port, '--http-port', true)
    await expect(listen(third, '127.0.0.1', port, '--http-port')).rejects.toThrow(/is in use by another process/)
    for (const server of [first, second]) await new Promise((resolve) => { server.close(resolve) })
  })
})
