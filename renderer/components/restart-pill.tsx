/** An instance that died: which attempt to replace it comes, and when; or that none is left. */
import { useTranslation } from 'react-i18next'
import type { InstanceRestart } from '../../server-core/contract/repository.ts'
import { secondsUntil } from '../lib/instance-state.ts'
import { useNow } from '../lib/use-now.ts'
import { StatePill } from './state-pill.tsx'

/** `Restart 2/5` and the seconds until it begins. */
export function RestartPill({ restart }: { readonly restart: InstanceRestart }) {
  const { t } = useTranslation()
  const seconds = secondsUntil(restart, useNow())
  const text = t(seconds > 0 ? 'instance.restart' : 'instance.restarting', { attempt: restart.attempt, limit: restart.limit })
  return <span className="npu-loading" title={seconds > 0 ? t('instance.restartIn', { attempt: restart.attempt, limit: restart.limit, seconds }) : text}><StatePill kind="degraded" text={text} {...(seconds > 0 ? { suffix: `${seconds} s` } : {})} isPlain /></span>
}
