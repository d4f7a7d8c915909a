/** A model's or server's state as shape, colour and word together: `StateMark` is the shape alone (beside a name), `StatePill` adds word and ground. */
import { useTranslation } from 'react-i18next'
import type { ModelStateKind } from '../lib/model-state.ts'
import './state-pill.css'

export type StateKind = ModelStateKind | 'simulated'

/** Unloading looks like loading; the word differs. */
function look(kind: StateKind): Exclude<StateKind, 'unloading'> {
  return kind === 'unloading' ? 'loading' : kind
}

function Shape({ kind }: { readonly kind: StateKind }) {
  switch (look(kind)) {
    case 'ready': return <><circle cx="6" cy="6" r="6" fill="currentColor" /><path className="npu-state-cut" d="M3.2 6.2 5.2 8.2 8.8 4.2" /></>
    case 'loading': return <><circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" strokeOpacity=".35" strokeWidth="2" /><path className="npu-state-ring" d="M6 1.2A4.8 4.8 0 0 1 10.8 6" stroke="currentColor" strokeWidth="2" fill="none" /></>
    case 'failed': return <><path d="M3.5 0h5L12 3.5v5L8.5 12h-5L0 8.5v-5z" fill="currentColor" /><path className="npu-state-cut" d="M4 4l4 4M8 4 4 8" /></>
    case 'degraded': return <><path d="M6 .5 12 11.5H0z" fill="currentColor" /><path className="npu-state-cut" d="M6 4.4v3.2M6 9.4v.4" /></>
    case 'simulated': return <><rect x=".7" y=".7" width="10.6" height="10.6" rx="1.5" fill="none" stroke="currentColor" strokeWidth="1.4" /><path d="M1 7 7 1M3 11l8-8M7.5 11 11 7.5" stroke="currentColor" strokeWidth="1.2" /></>
    default: return <circle cx="6" cy="6" r="4.8" fill="none" stroke="currentColor" strokeWidth="1.6" />
  }
}

/** The shape in its colour. It is named for screen readers unless a word stands beside it (`isDecoration`). */
export function StateMark({ kind, isDecoration = false }: { readonly kind: StateKind; readonly isDecoration?: boolean }) {
  const { t } = useTranslation()
  const name = isDecoration ? { 'aria-hidden': true } : { role: 'img', 'aria-label': t(`state.${kind}`) }
  return <svg className={`npu-state-mark npu-is-${look(kind)}`} viewBox="0 0 12 12" width="12" height="12" {...name}><Shape kind={kind} /></svg>
}

interface StatePillProps {
  readonly kind: StateKind
  /** Instead of the state's own word: the stage of a load, say. */
  readonly text?: string
  /** After the word, never cut off: the time a load has taken, say. */
  readonly suffix?: string
  /** Without ground, for table cells. */
  readonly isPlain?: boolean
}

export function StatePill({ kind, text, suffix, isPlain = false }: StatePillProps) {
  const { t } = useTranslation()
  return (
    <span className={`npu-state npu-is-${look(kind)}${isPlain ? '' : ' npu-state-pill'}`}>
      <StateMark kind={kind} isDecoration />
      <span className="npu-state-word">{text ?? t(`state.${kind}`)}</span>{suffix !== undefined && <span>{suffix}</span>}
    </span>
  )
}
