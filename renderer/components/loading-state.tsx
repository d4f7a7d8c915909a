/** A running load: its stage in words, never only a spinner. */
import { useTranslation } from 'react-i18next'
import { useConsole } from '../console-store.ts'
import { useNow } from '../lib/use-now.ts'
import { StatePill } from './state-pill.tsx'

/** Names the stage and, from the first second on, how long the load has taken. */
export function LoadingState({ name, stage }: { readonly name: string; readonly stage: string }) {
  const { t, i18n } = useTranslation()
  const startedAt = useConsole((state) => state.loadStartedAt[name])
  const now = useNow()
  const seconds = startedAt === undefined ? 0 : Math.floor((now - startedAt) / 1000)
  const known = `stage.${stage}`
  const word = stage === '' ? t('state.loading') : i18n.exists(known) ? t(known) : stage
  return <span className="npu-loading" title={word}><StatePill kind="loading" text={word} {...(seconds >= 1 ? { suffix: `${seconds} s` } : {})} isPlain /></span>
}
