/** Gives the focus back when a dialog goes: to where it was before, or to the page where that is gone. */
import { useEffect } from 'react'

const PASSING = '[role="dialog"], [role="alertdialog"], [role="menu"]'

let lastFocused: HTMLElement | null = null

if (typeof window !== 'undefined') {
  window.addEventListener('focusin', ({ target }) => {
    // A menu item that opens a dialog is gone when the dialog closes: the menu's button counts.
    if (target instanceof HTMLElement && target !== document.body && target.closest(PASSING) === null) lastFocused = target
  }, true)
}

/** Moves the focus only where nothing holds it: whoever took it meanwhile keeps it. */
export function returnFocus(): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return
  const target = lastFocused?.isConnected === true ? lastFocused : document.querySelector<HTMLElement>('main')
  target?.focus()
}

/** Stands inside the surface of a dialog. */
export function ReturnFocus() {
  useEffect(() => () => { setTimeout(returnFocus) }, [])
  return null
}
