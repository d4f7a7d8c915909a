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
})
