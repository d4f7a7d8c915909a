import { useTranslation } from 'react-i18next'
import { PageHeader } from '../../components/page-header.tsx'

export default function SettingsPage() {
  const { t } = useTranslation()
  return <div className="npu-page"><PageHeader title={t('page.settings')} /></div>
}
