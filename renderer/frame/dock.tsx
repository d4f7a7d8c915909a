/** The dock at the foot: closed it shows the last log line and the count of problems, opened the log or the problems. */
import { Button } from '@fluentui/react-components'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CloseIcon, LogIcon, WarningIcon } from '../components/icons.tsx'
import { IconButton } from '../components/icon-button.tsx'
import type { ServerStatus } from '../../server-core/contract/console-api.ts'
import { LogMark } from '../components/log-mark.tsx'
import { StateMark } from '../components/state-pill.tsx'
import { useConsole } from '../console-store.ts'
import { useCodeProblems } from '../lib/code-problems.ts'
import { formatClock, formatClockMilliseconds } from '../lib/format.ts'
import { logFacts, logLine } from '../lib/log-line.ts'
import { modelState } from '../lib/model-state.ts'
import { useNow } from '../lib/use-now.ts'
import { LogPanel } from './log-panel.tsx'
import { ProblemsPanel } from './problems-panel.tsx'

type Panel = 'logs' | 'problems'

export function Dock() {
  const { t } = useTranslation()
  const [panel, setPanel] = useState<Panel | null>(null)
  const models = useConsole((state) => (state.models ?? []).filter((model) => ['failed', 'degraded'].includes(modelState(model))).length)
  const problems = models + useCodeProblems((state) => state.found.length)
  const bar = useRef<HTMLDivElement>(null)
  const toggle = (next: Panel) => setPanel(panel === next ? null : next)
  const close = () => {
    // The focus goes with the panel: it returns to the button that opened it.
    bar.current?.querySelector<HTMLElement>('[aria-expanded="true"]')?.focus()
    setPanel(null)
  }
  return (
    <footer className="npu-dock" data-region="dock" aria-label={t('dock.name')} onKeyDown={(event) => { if (event.key === 'Escape' && panel !== null) close() }}>
      {panel !== null && (
        <section className="npu-dock-panel" aria-label={t(`dock.${panel}`)} data-testid={`dock-${panel}`}>
          {panel === 'logs' ? <LogPanel close={<CloseDock close={close} />} /> : <ProblemsPanel close={<CloseDock close={close} />} />}
        </section>
      )}
      <div className="npu-dock-bar" ref={bar}>
        <Button appearance="subtle" size="small" className="npu-small" icon={<LogIcon />} aria-expanded={panel === 'logs'} onClick={() => toggle('logs')} data-testid="dock-logs-button">{t('dock.logs')}</Button>
        <Button appearance="subtle" size="small" className="npu-small" icon={<WarningIcon />} aria-expanded={panel === 'problems'} onClick={() => toggle('problems')} data-testid="dock-problems-button">
          {t('dock.problems')}<b className={problems > 0 ? 'npu-dock-count npu-is-failed' : 'npu-dock-count'}>{problems}</b>
        </Button>
        <span className="npu-dock-rule" />
        <LastLogLine />
        <DockFacts />
      </div>
    </footer>
  )
}

function CloseDock({ close }: { readonly close: () => void }) {
  const { t } = useTranslation()
  return <IconButton icon={<CloseIcon />} label={t('close')} shortcut="Esc" onClick={close} />
}

function LastLogLine() {
  const last = useConsole((state) => state.log[state.log.length - 1])
  if (last === undefined) return <span className="npu-grow" />
  return <span className="npu-mono npu-quiet npu-cut npu-grow" title={logLine(last)}>{`${formatClockMilliseconds(last.time)}  ${last.level.toUpperCase()}  ${last.source}  `}<LogMark entry={last} />{`${last.message}${logFacts(last)}`}</span>
}

function DockFacts() {
  const { t } = useTranslation()
  const status = useConsole((state) => state.status)
  const now = useNow()
  const isSimulated = useConsole((state) => state.samples[state.samples.length - 1]?.npus?.some((npu) => npu.isSimulated) === true)
  return (
    <>
      {isSimulated && <span className="npu-row npu-is-simulated npu-dock-simulated"><StateMark kind="simulated" isDecoration />{t('dock.simulated')}</span>}
      {status !== null && <Versions status={status} />}
      <span className="npu-quiet npu-mono">{formatClock(now)}</span>
    </>
  )
}

/** What computes: CANN and the driver of the cards, else ONNX Runtime. Pointing at it names all of them. */
function Versions({ status: { version, onnxRuntimeVersion, cannVersion, driverVersion, npuSource } }: { readonly status: ServerStatus }) {
  const { t } = useTranslation()
  const cann = npuSource === 'simulated' ? t('dock.simulatedCann') : cannVersion === null ? null : `CANN ${cannVersion}`
  const npu = [cann, driverVersion === null ? null : t('dock.driver', { version: driverVersion })].filter((part) => part !== null)
  const own = `v${version}`
  const runtime = onnxRuntimeVersion === null ? [] : [`ONNX Runtime ${onnxRuntimeVersion}`]
  const shown = npu.length > 0 ? npu : runtime.length > 0 ? runtime : [own]
  return <span className="npu-quiet npu-dock-version" title={[...npu, ...runtime, own].join(' · ')} data-testid="dock-version">{shown.join(' · ')}</span>
}
