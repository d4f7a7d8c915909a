/**
 * `protocol`: a custom scheme is served from a loopback port, each of its hosts under a name below `localhost`, which Chromium treats as a
 * secure origin. So `app://console/index.html` is shown as `http://console.app.localhost:<port>/index.html`; handlers and main see the
 * scheme's own address.
 */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type SchemeHandler = (request: Request) => Response | Promise<Response>

export class SchemeServer {
  private readonly handlers = new Map<string, SchemeHandler>()
  private port = 0

  registerSchemesAsPrivileged(_schemes: readonly unknown[]): void {
    // Every scheme of the stand-in is standard and secure.
  }

  handle(scheme: string, handler: SchemeHandler): void { this.handlers.set(scheme, handler) }

  isProtocolHandled(scheme: string): boolean { return this.handlers.has(scheme) }

  async listen(): Promise<void> {
    const server = createServer((request, response) => { void this.answer(request, response) })
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
    server.unref()
    this.port = (server.address() as AddressInfo).port
  }

  /** The address under which Chromium finds a page of the scheme; other addresses stay as they are. */
  toShown(url: string): string {
    const [, scheme, host, rest] = /^([a-z][a-z0-9+.-]*):\/\/([^/]*)(.*)$/.exec(url) ?? []
    if (scheme === undefined || !this.handlers.has(scheme)) return url
    return `http://${host}.${scheme}.localhost:${this.port}${rest === '' ? '/' : rest}`
  }

  /** The scheme's own address of a page that Chromium shows. */
  fromShown(url: string): string {
    const [, host, scheme, port, rest] = /^http:\/\/([^/]+)\.([^./]+)\.localhost:(\d+)(.*)$/.exec(url) ?? []
    return scheme !== undefined && Number(port) === this.port ? `${scheme}://${host}${rest}` : url
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = this.fromShown(`http://${request.headers.host ?? ''}${request.url ?? '/'}`)
    const handler = this.handlers.get(url.split(':')[0] ?? '')
    if (handler === undefined) {
      response.writeHead(404).end()
      return
    }
    try {
      const answer = await handler(new Request(url, { method: request.method ?? 'GET' }))
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      response.end(Buffer.from(await answer.arrayBuffer()))
    } catch (error) {
      // Electron reports ERR_UNEXPECTED to the page; a broken connection is the nearest thing.
      process.stderr.write(`stand-in: the handler of ${url} failed: ${String(error)}\n`)
      response.destroy()
    }
  }
}
