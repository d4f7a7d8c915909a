/** A running load: its stage in words, never only a spinner. */
import { useTranslation } from 'react-i18next'
import { useConsole } from '../console-store.ts'
import { useNow } from '../lib/use-now.ts'
import { StatePill } from './state-pill.tsx'

/** The stage of a load in the language of the window; a stage without a word stays as the engine says it. */
export function useStageWord(stage: string): string {
  const { t, i18n } = useTranslation()
  const known = `stage.${stage}`
  return stage === '' ? t('state.loading') : i18n.exists(known) ? t(known) : stage
}

/** Names the stage and, from the first second on, how long the load has taken. */
export function LoadingState({ name, stage }: { readonly name: string; readonly stage: string }) {
  const word = useStageWord(stage)
  const startedAt = useConsole((state) => state.loadStartedAt[name])
  const now = useNow()
  const seconds = startedAt === undefined ? 0 : Math.floor((now - startedAt) / 1000)
  return <span className="npu-loading" title={word}><StatePill kind="loading" text={word} {...(seconds >= 1 ? { suffix: `${seconds} s` } : {})} isPlain /></span>
}
