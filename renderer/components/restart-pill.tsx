/** An instance that died: which attempt to replace it comes, and when; or that none is left. */
import { useTranslation } from 'react-i18next'
import type { InstanceRestart } from '../../server-core/contract/repository.ts'
import { secondsUntil } from '../lib/instance-state.ts'
import { useNow } from '../lib/use-now.ts'
import { StatePill } from './state-pill.tsx'

/** `Restart 2/5` and the seconds until it begins; `Restart 2` where the card is at fault, which is tried without end. */
export function RestartPill({ restart }: { readonly restart: InstanceRestart }) {
  const { t } = useTranslation()
  const seconds = secondsUntil(restart, useNow())
  const { attempt, limit } = restart
  const text = limit === null ? t(seconds > 0 ? 'instance.card.restart' : 'instance.card.restarting', { attempt }) : t(seconds > 0 ? 'instance.restart' : 'instance.restarting', { attempt, limit })
  const hint = limit === null ? t('instance.card.restartIn', { attempt, seconds }) : t('instance.restartIn', { attempt, limit, seconds })
  return <span className="npu-loading" title={seconds > 0 ? hint : text}><StatePill kind="degraded" text={text} {...(seconds > 0 ? { suffix: `· ${seconds} s` } : {})} isPlain /></span>
}
