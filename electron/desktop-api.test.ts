import { describe, expect, it } from 'vitest'
import { answerDesktopRequest, isTrustedSender } from './desktop-api.ts'
import type { DesktopRequestHandlers } from './ipc-channels.ts'

const handlers: DesktopRequestHandlers = {
  connection: () => Promise.resolve({ url: 'ws://127.0.0.1:8600/console', token: 't' }),
  chooseRepository: () => Promise.reject(new Error('no display')),
  recentRepositories: () => Promise.resolve([]),
  settings: () => Promise.resolve({ language: 'en', theme: 'dark', keepServingOnClose: null }),
  startServer: () => Promise.resolve(),
  changeSettings: (change) => Promise.resolve({ language: 'en', theme: 'dark', keepServingOnClose: null, ...change }),
}
const page = { senderFrame: { url: 'app://console/index.html#/models', parent: null } }
const ask = (name: unknown, args: unknown, sender: Parameters<typeof answerDesktopRequest>[1] = page) => answerDesktopRequest(handlers, sender, name, args)

describe('desktop api', () => {
  it('answers the console page', async () => {
    expect(await ask('connection', [])).toEqual({ ok: true, value: { url: 'ws://127.0.0.1:8600/console', token: 't' } })
    expect(await ask('changeSettings', [{ theme: 'light' }])).toMatchObject({ ok: true, value: { theme: 'light' } })
  })

  it('answers a failure as a message', async () => {
    expect(await ask('chooseRepository', [])).toEqual({ ok: false, message: 'no display' })
  })

  it('refuses names and arguments that are not the agreed ones', async () => {
    expect(await ask('toString', [])).toEqual({ ok: false, message: "The desktop knows no 'toString'." })
    expect(await ask(5, [])).toEqual({ ok: false, message: "The desktop knows no '5'." })
    expect(await ask('settings', 'all')).toEqual({ ok: false, message: "The arguments of 'settings' are not a list." })
  })

  it('trusts the top frame of the console page and nobody else', async () => {
    const topFrame = { url: 'app://console/index.html', parent: null } as never
    expect(isTrustedSender(page)).toBe(true)
    for (const senderFrame of [null, { url: 'https://example.com/', parent: null }, { url: 'app://consoles/', parent: null }, { url: 'app://console/index.html', parent: topFrame }]) {
      expect(await ask('connection', [], { senderFrame })).toEqual({ ok: false, message: 'Only the console page may ask the desktop.' })
    }
  })
})
