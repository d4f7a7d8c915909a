/** Where cards come from: those of the machine, simulated ones, or none. Takes effect when the engine starts again, which is said and done here. */
import { Button, Radio, RadioGroup } from '@fluentui/react-components'
import { useEffect, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ServerRestart } from '../../../server-core/contract/console-api.ts'
import { NPU_FALLBACKS, NPU_SOURCES, type SimulatedNpuReport } from '../../../server-core/contract/devices.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { restartEngine, useEngineRestart } from '../../engine-restart.ts'
import { isDeepEqual } from '../../lib/deep-equal.ts'
import { SimulatedCards } from './simulated-cards.tsx'

/** All that is chosen here. */
type NpuChoice = Required<Pick<ServerRestart, 'npuSource' | 'npuFallback' | 'simulatedCards' | 'simulatedTimeScale'>>

export function NpuSettings() {
  const { t } = useTranslation('settings')
  const sourceId = useId()
  const fallbackId = useId()
  const status = useConsole((state) => state.status)
  const instance = status?.instanceId ?? null
  const isConnected = useConsole((state) => state.connection === 'open')
  const { leaving, error } = useEngineRestart()
  const [simulation, setSimulation] = useState<SimulatedNpuReport | null>(null)
  const [chosen, setChosen] = useState<Partial<NpuChoice>>({})
  useEffect(() => {
    if (!isConnected) return
    let isCurrent = true
    consoleClient.command('npu.simulation').then((report) => {
      if (!isCurrent) return
      setSimulation(report)
      setChosen({})
    }, (reason: unknown) => { if (!(reason instanceof ConsoleError && reason.isDisconnect)) throw reason })
    return () => { isCurrent = false }
  }, [isConnected, instance])
  if (status === null || simulation === null) return null
  const inForce: NpuChoice = { npuSource: status.npuSource, npuFallback: status.npuFallback, simulatedCards: simulation.cards, simulatedTimeScale: simulation.timeScale }
  const wanted = { ...inForce, ...chosen }
  const choose = (next: Partial<NpuChoice>) => setChosen({ ...chosen, ...next })
  const change = differences(inForce, wanted)
  const isChanged = Object.keys(change).length > 0
  const isRestarting = leaving !== null
  const isOff = !status.canRestart
  const apply = () => { if (isChanged && !isRestarting) void restartEngine(consoleClient, change) }
  return (
    <Card title={t('npu.title')} {...(status.npuSource === 'simulated' ? { state: <StatePill kind="simulated" isPlain /> } : {})}>
      <div className="npu-setting">
        <span id={sourceId}>{t('npu.source')}</span>
        <div>
          <RadioGroup layout="horizontal" aria-labelledby={sourceId} value={wanted.npuSource} disabled={isOff} onChange={(_event, { value }) => { const next = NPU_SOURCES.find((known) => known === value); if (next !== undefined) choose({ npuSource: next }) }}>
            {NPU_SOURCES.map((known) => <Radio key={known} value={known} label={t(`npu.of.${known}`)} disabled={known === 'simulated' && simulation.unavailableReason !== null} data-testid={`npu-${known}`} />)}
          </RadioGroup>
          <p className="npu-secondary npu-setting-hint">{t(`npu.hint.${wanted.npuSource}`)}</p>
          {simulation.unavailableReason !== null && <p className="npu-small-text npu-is-degraded">{t('npu.unavailable')} {simulation.unavailableReason}</p>}
          {isOff && <p className="npu-small-text npu-is-degraded">{t('npu.cannotRestart')}</p>}
        </div>
      </div>
      {wanted.npuSource === 'simulated' && simulation.unavailableReason === null && (
        <SimulatedCards cards={wanted.simulatedCards} timeScale={wanted.simulatedTimeScale} profiles={simulation.profiles} isOff={isOff}
          onCards={(simulatedCards) => choose({ simulatedCards })} onTimeScale={(simulatedTimeScale) => choose({ simulatedTimeScale })} />
      )}
      <div className="npu-setting">
        <span id={fallbackId}>{t('npu.fallback')}</span>
        <div>
          <RadioGroup layout="horizontal" aria-labelledby={fallbackId} value={wanted.npuFallback} disabled={isOff} onChange={(_event, { value }) => { const next = NPU_FALLBACKS.find((known) => known === value); if (next !== undefined) choose({ npuFallback: next }) }}>
            {NPU_FALLBACKS.map((known) => <Radio key={known} value={known} label={t(`npu.fallbackOf.${known}`)} data-testid={`npu-fallback-${known}`} />)}
          </RadioGroup>
          <p className="npu-secondary npu-setting-hint">{t(`npu.fallbackHint.${wanted.npuFallback}`)}</p>
        </div>
      </div>
      <div className="npu-setting">
        <span />
        <div className="npu-column">
          <div className="npu-row npu-setting-apply">
            <Button disabledFocusable={!isChanged || isRestarting} onClick={apply} data-testid="npu-apply">{t('npu.apply')}</Button>
            <span className="npu-secondary" role="status">{isRestarting ? t('npu.restarting') : t(isChanged ? 'npu.restartHint' : 'npu.inEffect')}</span>
          </div>
          {error !== null && <ErrorNotice sentence={t('npu.notRestarted')} error={error} />}
        </div>
      </div>
    </Card>
  )
}

/** What is wanted and not in force. What simulated cards are like counts only where there are some. */
function differences(inForce: NpuChoice, wanted: NpuChoice): ServerRestart {
  const { npuSource, npuFallback, simulatedCards, simulatedTimeScale } = wanted
  const isSimulated = npuSource === 'simulated'
  return {
    ...(npuSource === inForce.npuSource ? {} : { npuSource }),
    ...(npuFallback === inForce.npuFallback ? {} : { npuFallback }),
    ...(isSimulated && !isDeepEqual(simulatedCards, inForce.simulatedCards) ? { simulatedCards } : {}),
    ...(isSimulated && simulatedTimeScale !== inForce.simulatedTimeScale ? { simulatedTimeScale } : {}),
  }
}
