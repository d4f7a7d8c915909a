/** Keys that work everywhere: Ctrl+1.. pages, F6 regions, / filter, F8 next problem, Ctrl+O import, Ctrl+Shift+O open a repository. */
import { useEffect } from 'react'
import { chooseModelFile } from '../features/models/import-store.ts'
import { useConsole } from '../console-store.ts'
import { isDialogOpen } from '../lib/is-dialog-open.ts'
import { compareByAttention, modelState } from '../lib/model-state.ts'
import { navigate, useRoute } from '../router.ts'
import { pages } from '../routes.tsx'
import { chooseRepository } from './repository-actions.ts'

/** Order of the F6 walk; a region that is not there is skipped. */
const REGIONS = ['rail', 'top', 'page', 'pane', 'dock'] as const

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
}

function focusRegion(direction: 1 | -1): void {
  const regions = REGIONS.map((name) => document.querySelector<HTMLElement>(`[data-region="${name}"]`)).filter((region) => region !== null)
  const active = document.activeElement
  // Innermost region last in document order wins: a pane lies inside the page.
  const current = regions.findLastIndex((region) => region.contains(active))
  const next = regions[(current + direction + regions.length) % regions.length]
  const target = next?.querySelector<HTMLElement>('[aria-current="page"]') ?? next?.querySelector<HTMLElement>('button:not([disabled]), a[href], input, [tabindex="0"]')
  ;(target ?? next)?.focus()
}

function nextProblem(): void {
  const failed = (useConsole.getState().models ?? []).filter((model) => modelState(model) === 'failed').sort(compareByAttention)
  const shown = useRoute.getState().rest[0]
  const next = failed[(failed.findIndex((model) => model.name === shown) + 1) % failed.length]
  if (next) navigate('models', next.name)
}

function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented) return
  if (event.key === 'F6') {
    event.preventDefault()
    focusRegion(event.shiftKey ? -1 : 1)
    return
  }
  if (isDialogOpen()) return
  const page = event.ctrlKey && !event.altKey && !event.shiftKey && !event.metaKey ? pages[Number(event.key) - 1] : undefined
  if (page) {
    event.preventDefault()
    navigate(page.id)
  } else if (event.key === 'F8') {
    event.preventDefault()
    nextProblem()
  } else if (event.ctrlKey && event.key.toLowerCase() === 'o') {
    event.preventDefault()
    if (event.shiftKey) chooseRepository()
    else chooseModelFile()
  } else if (event.key === '/' && !event.ctrlKey && !event.altKey && !isTyping(event.target)) {
    const filter = document.querySelector<HTMLInputElement>('[data-page-filter] input, input[data-page-filter]')
    if (!filter) return
    event.preventDefault()
    filter.focus()
    filter.select()
  }
}

export function useShortcuts(): void {
  useEffect(() => {
    window.addEventListener('keydown', handleKey)
    return () => window.removeEventListener('keydown', handleKey)
  }, [])
}
