import type { NetworkInterfaceInfo } from 'node:os'
import { expect, test } from 'vitest'
import { linkHost } from './console-frontend.ts'

const entry = (address: string, family: 'IPv4' | 'IPv6', internal: boolean) => ({ address, family, internal }) as NetworkInterfaceInfo
const interfaces = { lo: [entry('127.0.0.1', 'IPv4', true)], eth0: [entry('fe80::1', 'IPv6', false), entry('192.0.2.7', 'IPv4', false)] }

test('the printed link names an address that opens elsewhere', () => {
  expect(linkHost('127.0.0.1', interfaces)).toBe('127.0.0.1')
  expect(linkHost('0.0.0.0', interfaces)).toBe('192.0.2.7')
  expect(linkHost('::', interfaces)).toBe('192.0.2.7')
  expect(linkHost('0.0.0.0', {})).toBe('127.0.0.1')
  expect(linkHost('fd00::5', interfaces)).toBe('[fd00::5]')
})
