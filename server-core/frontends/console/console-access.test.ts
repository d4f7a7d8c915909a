import { describe, expect, it } from 'vitest'
import { ConsoleAccess } from './console-access.ts'

const secret = 'a secret of more than thirty-two characters'
const cookieOf = (access: ConsoleAccess, port = 8600) => access.setCookieHeader(port).split(';')[0]

describe('console access', () => {
  it('accepts a one-time link once and then has a new one', () => {
    const access = new ConsoleAccess({ secret })
    const token = access.linkToken
    expect(access.redeem(token)).toBe(true)
    expect(access.redeem(token)).toBe(false)
    expect(access.linkToken).not.toBe(token)
    expect(access.redeem(access.linkToken)).toBe(true)
  })

  it('accepts a fixed token any number of times', () => {
    const access = new ConsoleAccess({ secret, fixedToken: 'abc' })
    expect([access.redeem('abc'), access.redeem('abc'), access.redeem('abd'), access.redeem('')]).toEqual([true, true, false, false])
    expect(access.isFixedToken('abc')).toBe(true)
    expect(new ConsoleAccess({ secret }).isFixedToken('')).toBe(false)
  })

  it('knows its cookie again after a restart with the same secret', () => {
    const cookie = cookieOf(new ConsoleAccess({ secret }))
    expect(new ConsoleAccess({ secret }).hasCookie(`other=1; ${cookie}`, 8600)).toBe(true)
    expect(new ConsoleAccess({ secret: `${secret}!` }).hasCookie(cookie, 8600)).toBe(false)
    expect(new ConsoleAccess({ secret }).hasCookie(cookie, 8601)).toBe(false)
    expect(new ConsoleAccess({ secret }).hasCookie(undefined, 8600)).toBe(false)
  })

  it('marks the cookie HttpOnly and SameSite=Strict', () => {
    expect(new ConsoleAccess({ secret }).setCookieHeader(8600)).toMatch(/; HttpOnly; SameSite=Strict; /)
  })

  it('refuses host names that an attacker could point at this machine', () => {
    const local = new ConsoleAccess({ secret })
    expect(['127.0.0.1:8600', 'localhost:8600', '[::1]:8600', 'LOCALHOST'].map((host) => local.isHostAllowed(host))).toEqual([true, true, true, true])
    expect(['evil.example:8600', '127.0.0.1.evil.example', '10.0.0.5:8600', undefined].map((host) => local.isHostAllowed(host))).toEqual([false, false, false, false])
    const remote = new ConsoleAccess({ secret, extraHosts: ['npu-box', '*'] })
    expect(['npu-box:8600', '10.0.0.5:8600', 'evil.example'].map((host) => remote.isHostAllowed(host))).toEqual([true, true, false])
  })
})
