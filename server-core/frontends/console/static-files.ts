/** Serves the built window: one directory, contained, with a strict CSP on every page. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, normalize, sep } from 'node:path'
import { pipeline } from 'node:stream'

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.json': 'application/json', '.svg': 'image/svg+xml', '.png': 'image/png', '.ico': 'image/x-icon',
  '.woff2': 'font/woff2', '.woff': 'font/woff', '.ttf': 'font/ttf', '.wasm': 'application/wasm', '.txt': 'text/plain; charset=utf-8',
  '.map': 'application/json',
}

/** Nothing from any network; styles inline because Monaco and Fluent inject them. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'", "script-src 'self'", "worker-src 'self'", "style-src 'self' 'unsafe-inline'", "font-src 'self'",
  "img-src 'self' data: blob:", "connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join('; ')

export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/**
 * Answers GET and HEAD for a path below `directory`. A path that leaves it, or names no file, is 404.
 * @param path decoded path of the URL, starting with `/`
 */
export async function serveStaticFile(directory: string, path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const relative = normalize(path === '/' ? '/index.html' : path)
  const file = join(directory, relative)
  const isContained = file.startsWith(directory.endsWith(sep) ? directory : directory + sep) && !relative.includes('\0')
  const information = isContained ? await stat(file).catch(() => undefined) : undefined
  if (information === undefined || !information.isFile()) {
    sendText(response, 404, 'Not found')
    return
  }
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'Content-Type': MEDIA_TYPES[extname(file)] ?? 'application/octet-stream',
    'Content-Length': information.size,
    'Cache-Control': relative.includes('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache',
  })
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  // Unlike `pipe`, it closes the file when the window goes away in the middle.
  pipeline(createReadStream(file), response, () => {})
}

export function sendText(response: ServerResponse, status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { ...SECURITY_HEADERS, 'Content-Type': 'text/plain; charset=utf-8', ...headers })
  response.end(`${text}\n`)
}
