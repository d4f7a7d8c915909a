import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { listenError } from './frontends/frontend.ts'
import { serverOptions } from './options.ts'
import { findPortOwner } from './port-owner.ts'
import { startServer, type RunningServer } from './start-server.ts'

let directory: string
const running: RunningServer[] = []
beforeEach(() => { directory = mkdtempSync(join(tmpdir(), 'listen-errors-')) })
afterEach(async () => {
  for (const server of running.splice(0)) await server.stop()
  rmSync(directory, { recursive: true, force: true })
})

it('an address that cannot be listened on is blamed on its own flag', () => {
  const failed = (code: string, address: string) => listenError(Object.assign(new Error(code), { code }), address, 8000, '--http-port')
  expect(failed('EADDRNOTAVAIL', '1.2.3.4')).toMatchObject({ kind: 'INVALID_ARG', message: '--http-address: this machine has no address 1.2.3.4. Give --http-address one of its own, or 127.0.0.1.' })
  expect(failed('ENOTFOUND', '[::1]').message).toMatch(/^--http-address: '\[::1\]' is no address of this machine\. .*IPv6 without brackets/)
  expect(failed('EADDRINUSE', '127.0.0.1').message).toMatch(/^--http-port: port 8000 /)
})

it.runIf(process.platform === 'linux')('a port given to two front ends is not blamed on another process', async () => {
  const options = { modelRepositories: [directory], grpcPort: 0, metricsPort: 0, allowGrpc: false }
  const first = await startServer(serverOptions({ ...options, httpPort: 0, allowMetrics: false }))
  running.push(first)
  const port = first.addresses.http?.port ?? 0
  expect((await findPortOwner(port))?.processId).toBe(process.pid)
  await expect(startServer(serverOptions({ ...options, httpPort: port, allowMetrics: false }))).rejects.toMatchObject({
    kind: 'UNAVAILABLE', message: `--http-port: port ${port} is already used by this server itself. Give every front end a port of its own with --http-port, or 0 for a free one.`,
  })
})
