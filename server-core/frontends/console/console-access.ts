/**
 * Who may open the console: a one-time link or a fixed token becomes a cookie; every later request shows the cookie. Nothing here
 * reads files or sockets.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import { CONSOLE_TOKEN_COOKIE } from '../../contract/console-api.ts'

export interface ConsoleAccessOptions {
  /** Kept between starts, so that an open window reconnects after a restart of the server. */
  readonly secret: string
  /** `--console-token`: usable any number of times. Without it each link opens one browser. */
  readonly fixedToken?: string
  /** Names and addresses that a Host header may carry besides loopback. */
  readonly extraHosts?: readonly string[]
}

const LOOPBACK_HOSTS = new Set(['127.0.0.1', 'localhost', '[::1]'])

export class ConsoleAccess {
  readonly #fixedToken: string | undefined
  readonly #cookieValue: string
  readonly #extraHosts: ReadonlySet<string>
  #linkToken: string

  constructor(options: ConsoleAccessOptions) {
    this.#fixedToken = options.fixedToken
    this.#cookieValue = createHmac('sha256', options.secret).update(options.fixedToken ?? 'one-time').digest('base64url')
    this.#extraHosts = new Set((options.extraHosts ?? []).map((host) => host.toLowerCase()))
    this.#linkToken = options.fixedToken ?? newToken()
  }

  /** The token that the next link must carry. */
  get linkToken(): string {
    return this.#linkToken
  }

  /** Does a Host header name this machine, and not a name that an attacker points at it (DNS rebinding)? */
  isHostAllowed(hostHeader: string | undefined): boolean {
    if (hostHeader === undefined) return false
    const host = hostHeader.replace(/:\d+$/, '').toLowerCase()
    return LOOPBACK_HOSTS.has(host) || this.#extraHosts.has(host)
      || (this.#extraHosts.has('*') && isIP(host.replace(/^\[|\]$/g, '')) !== 0)
  }

  /** Takes a token from a link. True: set the cookie. A one-time token is used up by this. */
  redeem(token: string): boolean {
    if (!isEqual(token, this.#linkToken)) return false
    if (this.#fixedToken === undefined) this.#linkToken = newToken()
    return true
  }

  /** Is this the fixed token (desktop: in the query of the WebSocket)? Never uses up a link. */
  isFixedToken(token: string): boolean {
    return this.#fixedToken !== undefined && isEqual(token, this.#fixedToken)
  }

  hasCookie(cookieHeader: string | undefined, port: number): boolean {
    const name = `${cookieName(port)}=`
    return (cookieHeader ?? '').split(';').some((part) => {
      const pair = part.trim()
      return pair.startsWith(name) && isEqual(pair.slice(name.length), this.#cookieValue)
    })
  }

  setCookieHeader(port: number): string {
    return `${cookieName(port)}=${this.#cookieValue}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`
  }
}

/** Cookies are shared by all ports of a host, so the port is part of the name. */
function cookieName(port: number): string {
  return `${CONSOLE_TOKEN_COOKIE}_${port}`
}

/** 144 random bits, URL-safe. */
export function newToken(): string {
  return randomBytes(18).toString('base64url')
}

function isEqual(a: string, b: string): boolean {
  const left = Buffer.from(a), right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
