/** `app://console/...`: the built window's files, under a strict content security policy. Nothing outside the folder is ever served. */
import { readFile, realpath } from 'node:fs/promises'
import { extname, isAbsolute, join, relative } from 'node:path'

export const APP_SCHEME = 'app'
export const APP_ORIGIN = 'app://console'
export const APP_ENTRY = `${APP_ORIGIN}/index.html`

/** Standard: relative addresses and origins work; secure: as https. */
export const APP_SCHEME_PRIVILEGES = {
  scheme: APP_SCHEME,
  privileges: { standard: true, secure: true, supportFetchAPI: true, codeCache: true },
}

export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  // Fluent UI and Monaco write style elements.
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self' ws://127.0.0.1:*",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.wasm': 'application/wasm',
}

export function isAppUrl(url: string): boolean {
  return url === APP_ORIGIN || url.startsWith(`${APP_ORIGIN}/`)
}

/** The file an address names below the folder, or null where it names none that may be served. Looks at no disk. */
export function fileOfUrl(url: string, directory: string): string | null {
  if (!isAppUrl(url)) return null
  const path = new URL(url).pathname
  let decoded: string
  try {
    decoded = decodeURIComponent(path === '' || path === '/' ? '/index.html' : path)
  } catch {
    return null
  }
  if (decoded.includes('\0') || decoded.includes('\\')) return null
  const file = join(directory, decoded)
  return isInside(file, directory) ? file : null
}

/** Answers one request of the window. Symbolic links that lead out of the folder are not followed. */
export async function answerAppRequest(request: { readonly url: string; readonly method: string }, directory: string): Promise<Response> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(405)
  const file = fileOfUrl(request.url, directory)
  if (file === null) return refuse(404)
  try {
    if (!isInside(await realpath(file), await realpath(directory))) return refuse(404)
    const body = await readFile(file)
    return new Response(request.method === 'HEAD' ? null : new Uint8Array(body), { headers: headersOf(file) })
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' || code === 'EISDIR' || code === 'ENOTDIR') return refuse(404)
    throw error
  }
}

function headersOf(file: string): Record<string, string> {
  return {
    'content-type': MEDIA_TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    'cross-origin-opener-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  }
}

function refuse(status: number): Response {
  return new Response('', { status, headers: { 'content-security-policy': CONTENT_SECURITY_POLICY } })
}

function isInside(file: string, directory: string): boolean {
  const path = relative(directory, file)
  return path !== '' && !path.startsWith('..') && !isAbsolute(path)
}
