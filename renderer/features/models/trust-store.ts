/** Repositories whose code is not trusted, and what was answered about them in this window. */
import { create } from 'zustand'
import type { ModelSummary } from '../../../server-core/contract/repository.ts'
import { announce } from '../../components/live-region.tsx'
import { errorText } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'

interface TrustView {
  /** Asked about, and put off until this window is opened again; the models' own pages go on asking. */
  readonly putOff: ReadonlySet<string>
  /** The path whose trust is on its way. */
  readonly busy: string | null
  readonly failure: { readonly action: 'trust' | 'revoke'; readonly path: string; readonly error: unknown } | null
}

export const useTrust = create<TrustView>()(() => ({ putOff: new Set(), busy: null, failure: null }))

export interface UntrustedRepository {
  /** Real path. */
  readonly path: string
  readonly models: readonly string[]
  /** Some of them are written in Python; the others bring libraries. */
  readonly isPython: boolean
}

/** Each repository that models wait for, with their names, in the order of the models. */
export function untrustedRepositories(models: readonly ModelSummary[]): readonly UntrustedRepository[] {
  const waiting = models.filter(({ awaitsTrust }) => awaitsTrust !== null)
  return [...new Set(waiting.map(({ awaitsTrust }) => awaitsTrust ?? ''))].map((path) => {
    const own = waiting.filter(({ awaitsTrust }) => awaitsTrust === path)
    return { path, models: own.map(({ name }) => name), isPython: own.some(({ backend }) => backend === 'python') }
  })
}

export function putOffTrust(path: string): void {
  useTrust.setState(({ putOff }) => ({ putOff: new Set([...putOff, path]) }))
}

/** The server pushes what becomes of the models; only what goes wrong is kept here. @returns whether it was done */
export async function changeTrust(action: 'trust' | 'revoke', path: string): Promise<boolean> {
  if (useTrust.getState().busy !== null) return false
  useTrust.setState({ busy: path, failure: null })
  try {
    await command(action === 'trust' ? 'repository.trust' : 'repository.revokeTrust', { path })
    return true
  } catch (error) {
    announce(errorText(error), 'assertive')
    useTrust.setState({ failure: { action, path, error } })
    return false
  } finally {
    useTrust.setState({ busy: null })
  }
}
