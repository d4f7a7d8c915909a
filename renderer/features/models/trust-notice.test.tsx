import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { initialConsoleState, useConsole } from '../../console-store.ts'
import { modelSummary, serverStatus } from '../../testing/models.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { TrustSettings } from '../settings/trust-settings.tsx'
import { FailureCard } from './failure-card.tsx'
import { ModelTrustNotice, TrustNotices } from './trust-notice.tsx'
import { untrustedRepositories, useTrust } from './trust-store.ts'

const waiting = (name: string, part: Parameters<typeof modelSummary>[1] = {}) => modelSummary(name, { backend: 'python', awaitsTrust: '/home/user/models', ...part })
const REASON = "Unavailable: model 'm' runs Python code with your rights, and its repository '/home/user/models' is not trusted: trust it in the console (page Models), or start the server with --repository-trust=all"

describe('the question whether a repository is trusted', () => {
  let page: Rendered
  const command = vi.spyOn(consoleClient, 'command')
  const find = (id: string) => page.container.querySelector<HTMLElement>(`[data-testid="${id}"]`)
  const clickOn = async (element: HTMLElement | null) => act(async () => { element?.click() })
  const click = async (id: string) => clickOn(find(id))

  beforeEach(() => {
    useTrust.setState(useTrust.getInitialState(), true)
    useConsole.setState({ ...initialConsoleState, connection: 'open', status: serverStatus({ repositoryTrust: { mode: 'ask', trusted: [] } }) }, true)
    command.mockReset()
    command.mockImplementation((...[name]: readonly unknown[]) => (name === 'model.detail' ? new Promise(() => {}) : Promise.resolve(undefined)))
  })
  afterEach(async () => { await page.unmount() })

  it('names the folder and the models, once a folder, and nothing where no model waits', async () => {
    page = await render(<TrustNotices models={[modelSummary('plain'), waiting('a'), waiting('b'), waiting('c', { awaitsTrust: '/other', backend: 'own' })]} />)
    const notices = [...page.container.querySelectorAll('[data-testid="trust-notice"]')].map(({ textContent }) => textContent)
    expect(notices).toHaveLength(2)
    expect(notices[0]).toContain('This repository contains Python code that runs with your rights/home/user/models')
    expect(notices[0]).toContain('a, b load once')
    expect(notices[1]).toContain('contains libraries that run with your rights/other')
    expect(untrustedRepositories([modelSummary('plain')])).toEqual([])
  })

  it('speaks Chinese, and counts models that are too many to name', async () => {
    page = await render(<TrustNotices models={['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => waiting(name))} />, 'zh-CN')
    expect(find('trust-notice')?.textContent).toContain('这个模型仓库含有 Python 代码，会以你的权限运行')
    expect(find('trust-notice')?.textContent).toContain('a, b, c, d, e 和另外 2 个模型')
  })

  it('trusts the path that it shows', async () => {
    page = await render(<TrustNotices models={[waiting('a')]} />)
    await click('trust-repository')
    expect(command.mock.calls).toEqual([['repository.trust', { path: '/home/user/models' }]])
  })

  it('says why it could not', async () => {
    command.mockRejectedValue(new ConsoleError('INVALID_ARG', "'/home/user/models' leads to '/elsewhere' now"))
    page = await render(<TrustNotices models={[waiting('a')]} />)
    await click('trust-repository')
    expect(page.container.querySelector('[role="alert"]')?.textContent).toContain("leads to '/elsewhere' now")
  })

  it('is put off for the list, and stays on the page of a model', async () => {
    page = await render(<><TrustNotices models={[waiting('a')]} /><ModelTrustNotice model={waiting('a')} /></>)
    expect(page.container.querySelectorAll('[data-testid="trust-notice"]')).toHaveLength(2)
    await click('trust-later')
    expect(page.container.querySelectorAll('[data-testid="trust-notice"]')).toHaveLength(1)
    expect(command).not.toHaveBeenCalled()
  })

  it('is the fix of a load that was refused', async () => {
    page = await render(<FailureCard model={waiting('m', { state: 'UNAVAILABLE', reason: REASON })} />)
    expect(find('failure-card')?.textContent).toContain('Version 1 did not load: its repository is not trusted.')
    expect(find('failure-retry')).toBeNull()
    command.mockClear()
    await click('trust-repository')
    expect(command.mock.calls).toContainEqual(['repository.trust', { path: '/home/user/models' }])
  })

  it('can be answered otherwise in the settings', async () => {
    page = await render(<TrustSettings />)
    expect(find('trust-none')).not.toBeNull()
    await act(async () => { useConsole.setState({ status: serverStatus({ repositoryTrust: { mode: 'ask', trusted: [{ path: '/home/user/models', trustedAt: 1000 }] } }) }) })
    await clickOn(page.container.querySelector('button[aria-label="Revoke trust in /home/user/models"]'))
    expect(command.mock.calls).toEqual([['repository.revokeTrust', { path: '/home/user/models' }]])
    await act(async () => { useConsole.setState({ status: serverStatus() }) })
    expect(find('trusted-repositories')).toBeNull()
    expect(page.container.textContent).not.toContain('Trusted repositories')
  })
})
