/** What simulated cards are like: which ones, and how long they take. */
import { Button, Select } from '@fluentui/react-components'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { SimulatedCardProfile } from '../../../server-core/contract/devices.ts'
import { CloseIcon } from '../../components/icons.tsx'
import { IconButton } from '../../components/icon-button.tsx'
import { formatBytes } from '../../lib/format.ts'

const MOST_CARDS = 8
const TIME_SCALES = [0, 0.1, 1, 10]

interface SimulatedCardsProps {
  readonly cards: readonly string[]
  readonly timeScale: number
  readonly profiles: readonly SimulatedCardProfile[]
  readonly isOff: boolean
  readonly onCards: (cards: readonly string[]) => void
  readonly onTimeScale: (timeScale: number) => void
}

export function SimulatedCards({ cards, timeScale, profiles, isOff, onCards, onTimeScale }: SimulatedCardsProps) {
  const { t } = useTranslation('settings')
  const scaleId = useId()
  const words = ({ name, product, chipCount, aiCores, memoryBytes }: SimulatedCardProfile) => `${name} · ${product} · ${chipCount > 1 ? t('npu.chips', { count: chipCount }) : ''}${t('npu.cores', { count: aiCores })} · ${formatBytes(memoryBytes)}`
  // One that a command line gave is a choice too.
  const scales = TIME_SCALES.includes(timeScale) ? TIME_SCALES : [...TIME_SCALES, timeScale].sort((a, b) => a - b)
  const scaleWords = (scale: number) => (scale === 0 ? t('npu.timeScaleNone') : scale === 1 ? t('npu.timeScaleModelled') : t('npu.timeScaleFactor', { factor: scale }))
  return (
    <>
      <div className="npu-setting">
        <span>{t('npu.cards')}</span>
        <div className="npu-column">
          <ol className="npu-setting-cards">{cards.map((card, index) => (
            <li key={index} className="npu-row">
              <Select className="npu-grow" value={card} disabled={isOff} aria-label={t('npu.cardNumber', { number: index + 1 })} data-testid={`npu-card-${index}`} onChange={(_event, { value }) => onCards(cards.map((old, place) => (place === index ? value : old)))}>
                {profiles.map((profile) => <option key={profile.name} value={profile.name}>{words(profile)}</option>)}
              </Select>
              <IconButton icon={<CloseIcon />} label={t('npu.removeCard', { number: index + 1 })} disabledReason={cards.length === 1 ? t('npu.lastCard') : undefined} onClick={() => onCards(cards.filter((_, place) => place !== index))} />
            </li>
          ))}</ol>
          <div className="npu-row">
            <Button size="small" className="npu-small" disabledFocusable={isOff || cards.length >= MOST_CARDS} onClick={() => { if (cards.length < MOST_CARDS) onCards([...cards, cards[cards.length - 1] ?? profiles[0]?.name ?? '']) }} data-testid="npu-add-card">{t('npu.addCard')}</Button>
          </div>
        </div>
      </div>
      <div className="npu-setting">
        <label htmlFor={scaleId}>{t('npu.timeScale')}</label>
        <div>
          <Select className="npu-setting-choice" id={scaleId} value={String(timeScale)} disabled={isOff} data-testid="npu-time-scale" onChange={(_event, { value }) => onTimeScale(Number(value))}>
            {scales.map((scale) => <option key={scale} value={String(scale)}>{scaleWords(scale)}</option>)}
          </Select>
          <p className="npu-secondary npu-setting-hint">{t('npu.timeScaleHint')}</p>
        </div>
      </div>
    </>
  )
}
