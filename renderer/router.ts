/** The window's address: `#/models/ppocr_rec/test` is the page `models` with the rest `['ppocr_rec', 'test']`. */
import { create } from 'zustand'

export interface Route {
  /** First segment; '' opens the overview. */
  readonly page: string
  /** Following segments, decoded. */
  readonly rest: readonly string[]
}

export function parseRoute(hash: string): Route {
  const [page = '', ...rest] = hash.replace(/^#?\/?/, '').split('/').filter((segment) => segment !== '').map(decodeSegment)
  return { page, rest }
}

export function routeHash(page: string, ...rest: readonly string[]): string {
  return '#/' + [page, ...rest].map(encodeURIComponent).join('/')
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

export const useRoute = create<Route>()(() => parseRoute(typeof window === 'undefined' ? '' : window.location.hash))

/** Goes to a page; the browser's Back leads back. */
export function navigate(page: string, ...rest: readonly string[]): void {
  window.location.hash = routeHash(page, ...rest)
}

/** Follows the address bar. Call once at start-up. */
export function followAddress(): void {
  window.addEventListener('hashchange', () => useRoute.setState(parseRoute(window.location.hash), true))
}
