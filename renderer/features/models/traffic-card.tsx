/** Which share of the requests that name no version goes to another version than the one that serves them: set here, changed at once, measured beside it. */
import { Button, Input, Select, Slider } from '@fluentui/react-components'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelSummary, TrafficSplitSettings } from '../../../server-core/contract/repository.ts'
import { Card } from '../../components/card.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import { useConsole } from '../../console-store.ts'
import { formatDecimal, formatRate, UNKNOWN } from '../../lib/format.ts'
import { readyVersions } from '../../lib/model-state.ts'
import { traffic } from '../../lib/sample-figures.ts'

export function TrafficCard({ model }: { readonly model: ModelSummary }) {
  const ready = readyVersions(model)
  if (ready.length < 2) return null
  return <Split key={model.name} model={model} ready={ready} />
}

function Split({ model, ready }: { readonly model: ModelSummary; readonly ready: readonly string[] }) {
  const { t } = useTranslation('model-detail')
  const { traffic: split, name } = model
  const highestFirst = [...ready].sort((a, b) => Number(b) - Number(a))
  const [picked, setPicked] = useState<string | null>(null)
  // Without a split all goes to the highest version: the newest is tried with a share of it first.
  const version = split?.version ?? (picked !== null && ready.includes(picked) ? picked : highestFirst[0] ?? '')
  const base = split?.baseVersion ?? highestFirst.find((candidate) => candidate !== version) ?? ''
  const { send, error, pending } = useLatestSplit(name)
  const percent = pending?.percent ?? split?.percent ?? 0
  const change = (value: number) => { if (Number.isFinite(value)) send({ version, percent: Math.min(100, Math.max(0, Math.round(value * 100) / 100)) }) }
  const isOn = split !== null || pending !== null
  return (
    <Card title={t('traffic.title')} note={isOn ? t('traffic.on', { version, percent: shareText(percent), base }) : t('traffic.off', { version: highestFirst[0] })}
      actions={isOn ? <Button size="small" className="npu-small" onClick={() => send(null)} data-testid="traffic-end">{t('traffic.end')}</Button> : undefined}>
      <div className="npu-column" data-testid="traffic">
        {error !== null && <ErrorNotice sentence={t('traffic.failed')} error={error} />}
        <div className="npu-detail-traffic">
          <label className="npu-row"><span>{t('traffic.version')}</span>
            <Select size="small" value={version} onChange={(_event, { value }) => { setPicked(value); if (isOn) send({ version: value, percent: value === base ? 100 - percent : percent }) }} data-testid="traffic-version">
              {highestFirst.map((candidate) => <option key={candidate} value={candidate}>{candidate}</option>)}
            </Select>
          </label>
          {isOn ? (
            <>
              <Slider className="npu-detail-traffic-slider" min={0} max={100} value={Math.round(percent)} aria-label={t('traffic.share', { version })} onChange={(_event, { value }) => change(value)}
                onKeyDown={(event) => { if (event.key === 'PageUp' || event.key === 'PageDown') { event.preventDefault(); change(percent + (event.key === 'PageUp' ? 10 : -10)) } }} data-testid="traffic-slider" />
              <PercentField percent={percent} label={t('traffic.share', { version })} onChange={change} />
            </>
          ) : <Button onClick={() => send({ version, percent: version === highestFirst[0] ? 100 : 0 })} data-testid="traffic-begin">{t('traffic.begin')}</Button>}
        </div>
        {isOn && <Measured model={name} version={version} base={base} />}
        <p className="npu-secondary">{t(isOn ? 'traffic.sticky' : 'traffic.hint', { version, base })}</p>
      </div>
    </Card>
  )
}

/** Hundredths count; no more digits than are there. */
function shareText(percent: number): string { return formatDecimal(percent, Number.isInteger(percent) ? 0 : 2) }

function PercentField({ percent, label, onChange }: { readonly percent: number; readonly label: string; readonly onChange: (percent: number) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  const take = () => { if (typed !== null && typed.trim() !== '') onChange(Number(typed.replace(',', '.'))); setTyped(null) }
  return (
    <Input className="npu-detail-traffic-field" size="small" inputMode="decimal" value={typed ?? shareText(percent)} aria-label={label} contentAfter="%" onChange={(_event, { value }) => setTyped(value)} onBlur={take}
      onKeyDown={(event) => { if (event.key === 'Enter') take(); if (event.key === 'Escape') setTyped(null) }} data-testid="traffic-percent" />
  )
}

/** What the samples say of the last seconds. Requests that name a version are counted with it. */
function Measured({ model, version, base }: { readonly model: string; readonly version: string; readonly base: string }) {
  const { t } = useTranslation('model-detail')
  const samples = useConsole((state) => state.samples)
  const figures = useMemo(() => traffic(samples), [samples])
  const rates = [version, base].map((name) => figures.ofVersion(model, name).requestsPerSecond)
  const whole = rates.every((rate) => rate === null) ? null : rates.reduce<number>((sum, rate) => sum + (rate ?? 0), 0)
  const share = (rate: number | null | undefined) => (rate === null || rate === undefined || whole === null || whole === 0 ? null : (rate / whole) * 100)
  return (
    <div className="npu-detail-measured" data-testid="traffic-measured">
      <span className="npu-detail-measured-bar" aria-hidden="true">{share(rates[0]) !== null && [0, 1].map((index) => <i key={index} style={{ width: `${share(rates[index]) ?? 0}%` }} />)}</span>
      {[version, base].map((name, index) => (
        <span key={name} data-version={name}><i className="npu-detail-measured-swatch" aria-hidden="true" />{t('traffic.measured', { version: name })} <b>{share(rates[index]) === null ? UNKNOWN : `${formatDecimal(share(rates[index]), 0)} %`}</b> <span className="npu-quiet">{t('traffic.rate', { rate: formatRate(rates[index]) })}</span></span>
      ))}
    </div>
  )
}

/** Sends each change at once, one after another; what is overtaken while another is on its way is left out. */
function useLatestSplit(name: string) {
  const [state, setState] = useState<{ readonly error: unknown; readonly pending: TrafficSplitSettings | null }>({ error: null, pending: null })
  const queue = useRef<{ next: { readonly split: TrafficSplitSettings | null } | null; isBusy: boolean; isGone: boolean }>({ next: null, isBusy: false, isGone: false })
  useEffect(() => {
    const own = queue.current
    own.isGone = false
    return () => { own.isGone = true }
  }, [])
  const run = async () => {
    const own = queue.current
    if (own.isBusy) return
    own.isBusy = true
    let error: unknown = null
    while (own.next !== null) {
      const { split } = own.next
      own.next = null
      try {
        await command('model.traffic', { name, split })
        error = null
      } catch (reason) {
        error = reason
      }
    }
    own.isBusy = false
    // The server pushed what holds before it answered.
    if (!own.isGone) setState({ error, pending: null })
  }
  const send = (split: TrafficSplitSettings | null) => {
    queue.current.next = { split }
    setState((before) => ({ error: before.error, pending: split }))
    void run()
  }
  return { send, error: state.error, pending: state.pending }
}
