/**
 * The console as one more front end: serves the window's files and speaks the console contract over one WebSocket, both on one port,
 * both closed to whoever does not hold the token.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { hostname, networkInterfaces } from 'node:os'
import type { NetworkInterfaceInfo } from 'node:os'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { CONSOLE_SOCKET_PATH } from '../../contract/console-api.ts'
import type { Logger } from '../../logger.ts'
import { listen, refuseDetached } from '../frontend.ts'
import type { Frontend } from '../frontend.ts'
import { consoleCommandHandlers } from './console-commands.ts'
import type { ConsoleCommandContext } from './console-commands.ts'
import { ConsoleAccess } from './console-access.ts'
import { ConsoleSession } from './console-session.ts'
import { readOrCreateSecret } from './console-secret.ts'
import { sendText, serveStaticFile } from './static-files.ts'

/** Largest message from a window: a model file that is dropped on it travels in one. */
const MAXIMUM_MESSAGE_BYTES = 512 * 1024 * 1024

export interface ConsoleFrontendOptions extends ConsoleCommandContext {
  readonly address: string
  /** 0 picks a free one. */
  readonly port: number
  /** `--console-token`: a fixed token; without it every link works once. */
  readonly token?: string
  /** The built window (index.html and its assets). */
  readonly rendererDirectory: string
  /** Told the link to open; again each time a one-time link was used up. */
  readonly announceLink: (url: string) => void
  readonly log: Logger
}

/** @throws ServerError UNAVAILABLE that names port and flag when it cannot listen */
export async function startConsoleFrontend(options: ConsoleFrontendOptions): Promise<Frontend> {
  const { server, logs, log, devices } = options
  const isLoopback = options.address === '127.0.0.1' || options.address === '::1' || options.address === 'localhost'
  const access = new ConsoleAccess({
    secret: await readOrCreateSecret(options.dataDirectory),
    ...(options.token === undefined ? {} : { fixedToken: options.token }),
    extraHosts: isLoopback ? [] : [hostname(), '*'],
  })
  const handlers = consoleCommandHandlers(options)
  const sessions = new Set<ConsoleSession>()
  let port = options.port

  const announce = () => {
    options.announceLink(`http://${linkHost(options.address, networkInterfaces())}:${port}/?token=${access.linkToken}`)
  }
  const http = createServer((request, response) => {
    handlePage(request, response).catch((error: unknown) => {
      log.error('console page failed', { path: request.url ?? '', reason: String(error) })
      response.destroy()
    })
  })
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MAXIMUM_MESSAGE_BYTES, perMessageDeflate: false })

  async function handlePage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = parseUrl(request.url)
    if (!access.isHostAllowed(request.headers.host) || url === undefined) return sendText(response, 421, 'This console answers on its own address only.')
    if (request.method !== 'GET' && request.method !== 'HEAD') return sendText(response, 405, 'Method not allowed', { Allow: 'GET, HEAD' })
    const token = url.searchParams.get('token')
    if (token !== null && request.method === 'GET' && access.redeem(token)) {
      response.writeHead(302, { Location: '/', 'Set-Cookie': access.setCookieHeader(port), 'Cache-Control': 'no-store' }).end()
      if (options.token === undefined) announce()
      return
    }
    if (!access.hasCookie(request.headers.cookie, port)) {
      return sendText(response, 401, 'Open the console with the link that the server printed when it started (each link works once; the server prints a new one after each use).\n请用服务启动时打印的链接打开控制台（每个链接只能用一次，用过之后服务会打印新的链接）。')
    }
    const path = decodePath(url.pathname)
    if (path === undefined) return sendText(response, 400, 'The path is not valid percent-encoding.')
    return serveStaticFile(options.rendererDirectory, path, request, response)
  }

  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const url = parseUrl(request.url)
    const token = url?.searchParams.get('token')
    const isWelcome = url?.pathname === CONSOLE_SOCKET_PATH && access.isHostAllowed(request.headers.host)
      // A page elsewhere cannot know the fixed token; the cookie, which a browser adds by itself, also needs our own origin.
      && ((token !== null && token !== undefined && access.isFixedToken(token))
        || (access.hasCookie(request.headers.cookie, port) && request.headers.origin === `http://${request.headers.host}`))
    if (!isWelcome) {
      log.warning('console connection refused', { origin: request.headers.origin ?? '', path: url?.pathname ?? '' })
      refuseDetached(socket, 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const session = new ConsoleSession(webSocket, handlers, log)
      sessions.add(session)
      webSocket.on('close', () => { sessions.delete(session) })
    })
  })

  const unsubscribe = server.subscribe({
    modelChanged: (summary) => { for (const session of sessions) session.sendEvent('model.changed', summary) },
    modelRemoved: (name) => { for (const session of sessions) session.sendEvent('model.removed', { name }) },
    sampled: (sample) => { for (const session of sessions) session.sendEvent('statistics.sample', sample) },
    statusChanged: () => { for (const session of sessions) session.sendEvent('server.statusChanged', options.status()) },
  })
  const forgetDevices = devices.subscribe((report) => { for (const session of sessions) session.sendEvent('devices.changed', report) })
  const removeSink = logs.addSink((entry) => { for (const session of sessions) session.appendLog(entry) })

  const bound = await listen(http, options.address, options.port, '--console-port')
  port = bound.port
  announce()
  return {
    address: options.address,
    port,
    async stop() {
      unsubscribe()
      forgetDevices()
      removeSink()
      for (const session of sessions) session.close(1001, 'server stops')
      const closed = new Promise<void>((resolve) => { http.close(() => { resolve() }) })
      http.closeIdleConnections()
      for (const client of sockets.clients) setTimeout(() => { client.terminate() }, 500).unref()
      setTimeout(() => { http.closeAllConnections() }, 1000).unref()
      await closed
    },
  }
}

/** What a link must name so that it opens elsewhere: for "every address" the machine's first outside one. */
export function linkHost(address: string, interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>): string {
  const isEvery = address === '0.0.0.0' || address === '::'
  const outside = Object.values(interfaces).flatMap((entries) => entries ?? []).find((entry) => !entry.internal && entry.family === 'IPv4')
  const host = isEvery ? outside?.address ?? '127.0.0.1' : address
  return host.includes(':') ? `[${host}]` : host
}

function parseUrl(path: string | undefined): URL | undefined {
  try {
    return new URL(path ?? '/', 'http://console.invalid')
  } catch {
    return undefined
  }
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
