/** The desktop shell's API where there is one. In a browser `desktopApi()` is undefined. */
import type { DesktopApi } from '../../server-core/contract/console-api.ts'

declare global {
  interface Window {
    desktopApi?: DesktopApi
  }
}

export function desktopApi(): DesktopApi | undefined {
  return typeof window === 'undefined' ? undefined : window.desktopApi
}
