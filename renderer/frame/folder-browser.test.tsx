import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { DirectoryListing } from '../../server-core/contract/console-api.ts'
import { consoleClient, ConsoleError } from '../console-client.ts'
import { initialConsoleState, useConsole } from '../console-store.ts'
import { render } from '../testing/render.tsx'
import type { Rendered } from '../testing/render.tsx'
import { chooseRepository, stopBrowsing } from './repository-actions.ts'
import { RepositoryDialogs } from './repository-dialogs.tsx'

const listings: Record<string, DirectoryListing> = {
  '': { path: '/home/me', parent: '/home', directories: [{ name: 'models', path: '/home/me/models', looksLikeRepository: true }] },
  '/home/me/models': { path: '/home/me/models', parent: '/home/me', directories: [] },
}

describe('folder browser', () => {
  let page: Rendered
  const command = vi.spyOn(consoleClient, 'command')
  const dialog = () => document.querySelector<HTMLElement>('[role="dialog"]')
  const field = () => dialog()?.querySelector('input')
  const named = (text: string) => [...dialog()?.querySelectorAll<HTMLButtonElement>('button') ?? []].find((button) => button.textContent?.includes(text))
  const click = (text: string) => act(async () => { named(text)?.focus(); named(text)?.click() })
  const type = (text: string) => act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(field(), text)
    field()?.dispatchEvent(new Event('input', { bubbles: true }))
  })
  const asked = () => command.mock.calls.filter(([name]) => name === 'repository.browse').map(([, argument]) => (argument as { path: string }).path)

  beforeEach(async () => {
    useConsole.setState(initialConsoleState, true)
    command.mockReset()
    command.mockImplementation(((name: string, argument: { path: string }) => {
      if (name !== 'repository.browse') return new Promise(() => {})
      const listing = listings[argument.path]
      return listing ? Promise.resolve(listing) : Promise.reject(new ConsoleError('NOT_FOUND', `there is no directory '${argument.path}'`))
    }) as typeof consoleClient.command)
    page = await render(<><main tabIndex={-1}><button type="button">opener</button></main><RepositoryDialogs /></>)
    await act(async () => page.container.querySelector<HTMLElement>('button')?.focus())
    await act(async () => chooseRepository())
  })

  afterEach(async () => {
    await act(async () => stopBrowsing())
    await page.unmount()
  })

  it('gives the focus back when it closes', async () => {
    await act(async () => field()?.focus())
    await click('Cancel')
    expect(dialog()).toBeNull()
    await vi.waitFor(() => expect(document.activeElement?.textContent).toBe('opener'))
  })

  it('gives the focus to the page where the opener is gone', async () => {
    await act(async () => field()?.focus())
    page.container.querySelector('main button')?.remove()
    await click('Cancel')
    await vi.waitFor(() => expect(document.activeElement?.tagName).toBe('MAIN'))
  })

  it('keeps the focus in the list when a folder is entered', async () => {
    await click('models')
    expect(field()?.value).toBe('/home/me/models')
    expect(document.activeElement).toBe(named('..'))
  })

  it('keeps the list beside an error, says what to do, and asks again for the same folder', async () => {
    await type('/nowhere')
    await click('Go')
    expect(dialog()?.querySelector('[role="alert"]')?.textContent).toContain('Check the path')
    expect(dialog()?.querySelector('[role="alert"]')?.textContent).not.toContain('Rescan')
    expect(named('models')).toBeDefined()
    await click('Go')
    expect(asked()).toEqual(['', '/nowhere', '/nowhere'])
  })

  it('opens the folder that is typed, not the one that is listed', async () => {
    await type('/srv/models')
    await click('Open this folder')
    expect(command).toHaveBeenLastCalledWith('repository.open', { path: '/srv/models' })
  })
})
