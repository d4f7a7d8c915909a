import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerAppRequest, CONTENT_SECURITY_POLICY, fileOfUrl, isAppUrl } from './app-protocol.ts'

let root: string
let directory: string

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'app-protocol-'))
  directory = join(root, 'renderer')
  mkdirSync(join(directory, 'assets'), { recursive: true })
  writeFileSync(join(directory, 'index.html'), '<p>page</p>')
  writeFileSync(join(directory, 'assets/a b.js'), 'let x')
  writeFileSync(join(root, 'secret.txt'), 'secret')
  symlinkSync(join(root, 'secret.txt'), join(directory, 'link.txt'))
})

afterAll(() => { rmSync(root, { recursive: true, force: true }) })

const get = (url: string) => answerAppRequest({ url, method: 'GET' }, directory)

describe('app protocol', () => {
  it('serves the page and its files with type, policy and no sniffing', async () => {
    for (const url of ['app://console', 'app://console/', 'app://console/index.html?x=1#/models']) {
      const response = await get(url)
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('<p>page</p>')
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(response.headers.get('content-security-policy')).toBe(CONTENT_SECURITY_POLICY)
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    }
    expect((await get('app://console/assets/a%20b.js')).headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  })

  it('answers 404 for what is not there, a folder, and every way out of the folder', async () => {
    const ways = ['missing.js', 'assets', '../secret.txt', '%2e%2e/secret.txt', '..%2fsecret.txt', 'assets/..%2f..%2fsecret.txt', '..%5csecret.txt', '%00', '%zz', 'link.txt', '/etc/passwd']
    for (const way of ways) {
      const response = await get(`app://console/${way}`)
      expect([way, response.status, await response.text()]).toEqual([way, 404, ''])
    }
  })

  it('knows only its own host and only reading', async () => {
    expect((await get('app://other/index.html')).status).toBe(404)
    expect((await get('file:///etc/passwd')).status).toBe(404)
    expect((await answerAppRequest({ url: 'app://console/index.html', method: 'POST' }, directory)).status).toBe(405)
    expect(isAppUrl('app://console.evil/index.html')).toBe(false)
    expect(isAppUrl('app://consoleevil')).toBe(false)
  })

  it('names a file without looking at the disk', () => {
    expect(fileOfUrl('app://console/assets/x.js', '/srv/renderer')).toBe('/srv/renderer/assets/x.js')
    expect(fileOfUrl('app://console/..%2fx.js', '/srv/renderer')).toBeNull()
  })

  it('allows scripts, workers and fonts from itself only', () => {
    expect(CONTENT_SECURITY_POLICY).toContain("default-src 'none'")
    expect(CONTENT_SECURITY_POLICY).toContain("script-src 'self';")
    expect(CONTENT_SECURITY_POLICY).not.toMatch(/script-src[^;]*unsafe/)
    expect(CONTENT_SECURITY_POLICY).toContain("connect-src 'self' ws://127.0.0.1:*;")
  })
})
