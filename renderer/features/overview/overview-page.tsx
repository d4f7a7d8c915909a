/** One screen answers: is the engine up, what serves, what needs me, are the cards busy. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { ImportIcon, TestIcon } from '../../components/icons.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { SimulatedBanner } from '../../components/simulated-banner.tsx'
import { useConsole } from '../../console-store.ts'
import { formatClock } from '../../lib/format.ts'
import { modelState } from '../../lib/model-state.ts'
import { navigate } from '../../router.ts'
import { FirstRun } from '../first-run/first-run.tsx'
import { chooseModelFile } from '../models/import-store.ts'
import { AttentionCard } from './attention-card.tsx'
import { EngineCard } from './engine-card.tsx'
import { EventsCard } from './events-card.tsx'
import { KeyFigures } from './key-figures.tsx'
import { NpuCard } from './npu-card.tsx'
import { ServingCard } from './serving-card.tsx'
import './overview.css'

export default function OverviewPage() {
  const models = useConsole((state) => state.models)
  if (models === null) return null
  return models.length === 0 ? <FirstRun /> : <Overview />
}

function Overview() {
  const { t } = useTranslation('overview')
  const lostAt = useConsole((state) => state.lostAt)
  const isSimulated = useConsole((state) => state.samples[state.samples.length - 1]?.npus?.some((npu) => npu.isSimulated) === true)
  const testable = useConsole((state) => state.models?.find((model) => ['ready', 'degraded'].includes(modelState(model)))?.name)
  return (
    <div className="npu-page">
      <PageHeader title={t('title')} note={lostAt === null ? t('note') : t('stale', { time: formatClock(lostAt) })}>
        <Button icon={<ImportIcon />} onClick={chooseModelFile} title="Ctrl+O">{t('import')}</Button>
        <Button appearance="primary" icon={<TestIcon />} disabledFocusable={testable === undefined} title={testable === undefined ? t('testNothing') : testable} onClick={() => { if (testable !== undefined) navigate('models', testable, 'test') }}>{t('test')}</Button>
      </PageHeader>
      {isSimulated && <SimulatedBanner />}
      <div className="npu-overview">
        <div className="npu-overview-side"><EngineCard /><AttentionCard /><EventsCard /></div>
        <div className="npu-overview-main"><KeyFigures /><ServingCard /><NpuCard /></div>
      </div>
    </div>
  )
}
