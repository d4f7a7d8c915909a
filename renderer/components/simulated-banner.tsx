/** At the top of a page whose figures come from the simulator: what of them is real. It cannot be closed. */
import { useTranslation } from 'react-i18next'
import { StateMark } from './state-pill.tsx'
import './simulated-banner.css'

export function SimulatedBanner() {
  const { t } = useTranslation()
  return <p className="npu-simulated-banner" role="note"><StateMark kind="simulated" isDecoration /><b>{t('simulatedBanner.title')}</b> <span>{t('simulatedBanner.text')}</span></p>
}
