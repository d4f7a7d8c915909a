/** What the window may do beyond its own page: nearly nothing. Pure decisions; `window.ts` wires them. */
import { isAppUrl } from './app-protocol.ts'

/** Pages that a link may open in the user's own browser. */
const EXTERNAL_HOSTS: readonly string[] = ['github.com', 'www.hiascend.com', 'gitee.com', 'docs.nvidia.com']

/**
 * Chromium asks for a permission before a page may speak to the loopback network, which the console's WebSocket does. Copy buttons write
 * text to the clipboard. Nothing else is granted, and nothing to any other origin.
 */
const GRANTED_PERMISSIONS: readonly string[] = ['loopback-network', 'local-network-access', 'local-network', 'clipboard-sanitized-write']

export function isPermissionGranted(permission: string, origin: string): boolean {
  return isAppUrl(origin.replace(/\/$/, '')) && GRANTED_PERMISSIONS.includes(permission)
}

/** Only the page itself, so that a link can never replace it. */
export function isNavigationAllowed(url: string): boolean {
  return isAppUrl(url)
}

export function isExternalLinkAllowed(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password, port } = new URL(url)
  return protocol === 'https:' && username === '' && password === '' && port === '' && EXTERNAL_HOSTS.includes(hostname)
}
