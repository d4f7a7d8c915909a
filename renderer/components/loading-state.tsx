/** A running load: its stage in words, never only a spinner. */
import { useTranslation } from 'react-i18next'
import type { LoadStage } from '../../server-core/contract/repository.ts'
import { useConsole } from '../console-store.ts'
import { useNow } from '../lib/use-now.ts'
import { StatePill } from './state-pill.tsx'

/** The stage of a load in the language of the window, with the instance where it is about one of several. */
export function useStageWord(stage: LoadStage | null): string {
  const { t } = useTranslation()
  if (stage === null) return t('state.loading')
  const word = t(`stage.${stage.kind}`)
  return stage.instanceCount > 1 ? t('stage.ofInstances', { stage: word, instance: stage.instance, count: stage.instanceCount }) : word
}

/** Names the stage and, from the first second on, how long the load has taken. */
export function LoadingState({ name, stage }: { readonly name: string; readonly stage: LoadStage | null }) {
  const word = useStageWord(stage)
  // A reload beside a version that serves is no state of its own: its stage tells since when.
  const startedAt = useConsole((state) => state.loadStartedAt[name]) ?? stage?.startedAt
  const now = useNow()
  const seconds = startedAt === undefined ? 0 : Math.floor((now - startedAt) / 1000)
  return <span className="npu-loading" title={word}><StatePill kind="loading" text={word} {...(seconds >= 1 ? { suffix: `${seconds} s` } : {})} isPlain /></span>
}
