/** Where cards come from: those of the machine, simulated ones, or none. Takes effect when the engine starts again, which is said and done here. */
import { Button, Radio, RadioGroup, Select } from '@fluentui/react-components'
import { useEffect, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { NPU_SOURCES, type NpuSource, type SimulatedCardProfile, type SimulatedNpuReport } from '../../../server-core/contract/devices.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { CloseIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { StatePill } from '../../components/state-pill.tsx'
import { consoleClient, ConsoleError } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { restartEngine, useEngineRestart } from '../../engine-restart.ts'
import { isDeepEqual } from '../../lib/deep-equal.ts'
import { formatBytes } from '../../lib/format.ts'

const MOST_CARDS = 8

export function NpuSettings() {
  const { t } = useTranslation('settings')
  const titleId = useId()
  const status = useConsole((state) => state.status)
  const instance = status?.instanceId ?? null
  const isConnected = useConsole((state) => state.connection === 'open')
  const { leaving, error } = useEngineRestart()
  const [simulation, setSimulation] = useState<SimulatedNpuReport | null>(null)
  const [chosen, setChosen] = useState<{ readonly source: NpuSource | null; readonly cards: readonly string[] | null }>({ source: null, cards: null })
  useEffect(() => {
    if (!isConnected) return
    let isCurrent = true
    consoleClient.command('npu.simulation').then((report) => {
      if (!isCurrent) return
      setSimulation(report)
      setChosen({ source: null, cards: null })
    }, (reason: unknown) => { if (!(reason instanceof ConsoleError && reason.isDisconnect)) throw reason })
    return () => { isCurrent = false }
  }, [isConnected, instance])
  if (status === null || simulation === null) return null
  const source = chosen.source ?? status.npuSource
  const cards = chosen.cards ?? simulation.cards
  const isChanged = source !== status.npuSource || (source === 'simulated' && !isDeepEqual(cards, simulation.cards))
  const isRestarting = leaving !== null
  const apply = () => { if (isChanged && !isRestarting) void restartEngine(consoleClient, { npuSource: source, ...(source === 'simulated' ? { simulatedCards: cards } : {}) }) }
  return (
    <Card title={t('npu.title')} {...(status.npuSource === 'simulated' ? { state: <StatePill kind="simulated" isPlain /> } : {})}>
      <div className="npu-setting">
        <span id={titleId}>{t('npu.source')}</span>
        <div>
          <RadioGroup layout="horizontal" aria-labelledby={titleId} value={source} disabled={!status.canRestart} onChange={(_event, { value }) => { const next = NPU_SOURCES.find((known) => known === value); if (next !== undefined) setChosen({ source: next, cards: chosen.cards }) }}>
            {NPU_SOURCES.map((known) => <Radio key={known} value={known} label={t(`npu.of.${known}`)} disabled={known === 'simulated' && simulation.unavailableReason !== null} data-testid={`npu-${known}`} />)}
          </RadioGroup>
          <p className="npu-secondary npu-setting-hint">{t(`npu.hint.${source}`)}</p>
          {simulation.unavailableReason !== null && <p className="npu-small-text npu-is-degraded">{t('npu.unavailable')} {simulation.unavailableReason}</p>}
          {!status.canRestart && <p className="npu-small-text npu-is-degraded">{t('npu.cannotRestart')}</p>}
        </div>
      </div>
      {source === 'simulated' && simulation.unavailableReason === null && <SimulatedCards cards={cards} profiles={simulation.profiles} isOff={!status.canRestart} onChange={(next) => setChosen({ source: chosen.source, cards: next })} />}
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

interface SimulatedCardsProps {
  readonly cards: readonly string[]
  readonly profiles: readonly SimulatedCardProfile[]
  readonly isOff: boolean
  readonly onChange: (cards: readonly string[]) => void
}

function SimulatedCards({ cards, profiles, isOff, onChange }: SimulatedCardsProps) {
  const { t } = useTranslation('settings')
  const words = ({ name, product, chipCount, aiCores, memoryBytes }: SimulatedCardProfile) => `${name} · ${product} · ${chipCount > 1 ? t('npu.chips', { count: chipCount }) : ''}${t('npu.cores', { count: aiCores })} · ${formatBytes(memoryBytes)}`
  return (
    <div className="npu-setting">
      <span>{t('npu.cards')}</span>
      <div className="npu-column">
        <ol className="npu-setting-cards">{cards.map((card, index) => (
          <li key={index} className="npu-row">
            <Select className="npu-grow" value={card} disabled={isOff} aria-label={t('npu.cardNumber', { number: index + 1 })} data-testid={`npu-card-${index}`} onChange={(_event, { value }) => onChange(cards.map((old, place) => (place === index ? value : old)))}>
              {profiles.map((profile) => <option key={profile.name} value={profile.name}>{words(profile)}</option>)}
            </Select>
            <IconButton icon={<CloseIcon />} label={t('npu.removeCard', { number: index + 1 })} disabledReason={cards.length === 1 ? t('npu.lastCard') : undefined} onClick={() => onChange(cards.filter((_, place) => place !== index))} />
          </li>
        ))}</ol>
        <div className="npu-row">
          <Button size="small" className="npu-small" disabledFocusable={isOff || cards.length >= MOST_CARDS} onClick={() => { if (cards.length < MOST_CARDS) onChange([...cards, cards[cards.length - 1] ?? profiles[0]?.name ?? '']) }} data-testid="npu-add-card">{t('npu.addCard')}</Button>
        </div>
      </div>
    </div>
  )
}
