import { isIP } from 'node:net'

/** Does a listening address reach this machine only? */
export function isLoopback(address: string): boolean {
  if (address === 'localhost' || address === '::1') return true
  return isIP(address) === 4 && address.startsWith('127.')
}
