import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { availablePorts, canListen, portFallbacks } from './free-ports.ts'

describe('ports', () => {
  it('are taken while somebody listens, and free afterwards', async () => {
    const other = createServer()
    other.listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    expect(await canListen(port, '127.0.0.1')).toBe(false)
    other.close()
    await once(other, 'close')
    expect(await canListen(port, '127.0.0.1')).toBe(true)
    expect(await canListen(0, '127.0.0.1')).toBe(true)
  })

  it('fall back to any free one, each by itself', async () => {
    const wanted = { http: 8000, grpc: 8001, metrics: 8002, console: 8600 }
    expect(await availablePorts(wanted, (_name, port) => Promise.resolve(port !== 8001))).toEqual({ ...wanted, grpc: 0 })
  })

  it('say which differ from what was asked for; asking for any is no fallback', () => {
    const wanted = { http: 8000, grpc: 0, metrics: 8002, console: 8600 }
    expect(portFallbacks(wanted, { http: 40001, grpc: 40002, metrics: 8002, console: 8600 })).toEqual([{ name: 'http', requested: 8000, used: 40001 }])
  })
})
