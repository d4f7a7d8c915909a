/** The engine: where it listens, in which control mode, for how long. */
import { useTranslation } from 'react-i18next'
import type { ListeningAddress } from '../../../server-core/contract/console-api.ts'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { useConsole } from '../../console-store.ts'
import { EngineState } from '../../frame/engine-state.tsx'
import { durationParts, UNKNOWN } from '../../lib/format.ts'
import { useNow } from '../../lib/use-now.ts'
import { useServerProcess } from '../../server-process-store.ts'

export function EngineCard() {
  const { t } = useTranslation('overview')
  const status = useConsole((state) => state.status)
  const places = [status?.http, status?.grpc, status?.metrics].filter((place) => place !== null && place !== undefined)
  const isLoopback = places.every((place) => place.address === '127.0.0.1' || place.address === '::1' || place.address === 'localhost')
  return (
    <Card title={t('engine.title')} state={<EngineState isShort />} note={status === null ? undefined : t('engine.process', { id: status.processId })}>
      <Endpoint frontEnd="http" place={status?.http ?? null} text={(host) => `http://${host}`} />
      <Endpoint frontEnd="grpc" place={status?.grpc ?? null} text={(host) => host} />
      <Endpoint frontEnd="metrics" place={status?.metrics ?? null} text={(host) => `http://${host}/metrics`} />
      <div className="npu-engine-facts npu-secondary">
        <span>{t('engine.controlMode')} <b>{status === null ? UNKNOWN : t(`common:controlMode.${status.controlMode}`)}</b></span>
        <span>{t('engine.uptime')} <b>{status === null ? UNKNOWN : <Uptime since={status.startedAt} />}</b></span>
        {places.length > 0 && <span className={isLoopback ? undefined : 'npu-is-degraded'}>{t(isLoopback ? 'engine.loopback' : 'engine.open')}</span>}
      </div>
      <PortFallbacks />
    </Card>
  )
}

/** The desktop moves to a free port where the wanted one is taken: said here, because clients must know. */
function PortFallbacks() {
  const { t } = useTranslation('overview')
  const process = useServerProcess((state) => state.process)
  const moved = process?.kind === 'running' ? (process.portFallbacks ?? []) : []
  return moved.map(({ name, requested, used }) => <p key={name} className="npu-small-text npu-is-degraded">{t('engine.portTaken', { name: t(`engine.frontEnd.${name}`), requested, used })}</p>)
}

function Uptime({ since }: { readonly since: number }) {
  const { t } = useTranslation()
  const isOpen = useConsole((state) => state.connection === 'open')
  const now = useNow()
  if (!isOpen) return <>{UNKNOWN}</>
  const { key, first, second } = durationParts(now - since)
  return <>{t(`duration.${key}`, { first, second })}</>
}

function hostOf({ address, port }: ListeningAddress): string {
  const host = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

interface EndpointProps { readonly frontEnd: 'http' | 'grpc' | 'metrics'; readonly place: ListeningAddress | null; readonly text: (host: string) => string }

function Endpoint({ frontEnd, place, text }: EndpointProps) {
  const { t } = useTranslation('overview')
  const address = place === null ? null : text(hostOf(place))
  return (
    <div className="npu-endpoint">
      <span className="npu-quiet">{t(`engine.frontEnd.${frontEnd}`)}</span>
      {address === null ? <span className="npu-quiet">{t('engine.off')}</span> : <code className="npu-cut" title={address}>{address}</code>}
      {address === null ? <span /> : <CopyButton text={address} label={t(`engine.copy.${frontEnd}`)} />}
    </div>
  )
}
