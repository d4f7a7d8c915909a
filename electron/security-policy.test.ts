import { describe, expect, it } from 'vitest'
import { isExternalLinkAllowed, isNavigationAllowed, isPermissionGranted } from './security-policy.ts'

describe('security policy', () => {
  it('grants the loopback network and copying, to the console page only', () => {
    expect(isPermissionGranted('loopback-network', 'app://console')).toBe(true)
    expect(isPermissionGranted('local-network-access', 'app://console/')).toBe(true)
    expect(isPermissionGranted('clipboard-sanitized-write', 'app://console')).toBe(true)
    expect(isPermissionGranted('loopback-network', 'https://example.com')).toBe(false)
    for (const permission of ['media', 'geolocation', 'notifications', 'clipboard-read', 'fileSystem', 'openExternal', 'hid', 'unknown']) {
      expect([permission, isPermissionGranted(permission, 'app://console')]).toEqual([permission, false])
    }
  })

  it('lets the page go nowhere else', () => {
    expect(isNavigationAllowed('app://console/index.html#/models')).toBe(true)
    for (const url of ['https://github.com', 'http://127.0.0.1:8600/', 'file:///etc/passwd', 'javascript:alert(1)', 'app://other/index.html']) {
      expect([url, isNavigationAllowed(url)]).toEqual([url, false])
    }
  })

  it('opens only https links to listed hosts outside', () => {
    expect(isExternalLinkAllowed('https://github.com/triton-inference-server')).toBe(true)
    for (const url of ['http://github.com', 'https://github.com.evil.example', 'https://user:x@github.com', 'https://github.com:8443/', 'file:///bin/sh', 'not a url', 'javascript:0']) {
      expect([url, isExternalLinkAllowed(url)]).toEqual([url, false])
    }
  })
})
