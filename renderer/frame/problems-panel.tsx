/** Models that failed or serve only in part, each with its reason and the way to its error card. */
import { useTranslation } from 'react-i18next'
import { useShallow } from 'zustand/react/shallow'
import type { ReactNode } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { StatePill } from '../components/state-pill.tsx'
import { useConsole } from '../console-store.ts'
import { compareByAttention, failureReason, modelState } from '../lib/model-state.ts'
import { routeHash } from '../router.ts'

export function ProblemsPanel({ close }: { readonly close: ReactNode }) {
  const { t } = useTranslation()
  const problems = useConsole(useShallow((state) => (state.models ?? []).filter((model) => ['failed', 'degraded'].includes(modelState(model))).sort(compareByAttention)))
  return (
    <>
      <div className="npu-dock-head"><b>{t('dock.problems')}</b><span className="npu-quiet npu-small-text">{t('dock.nextProblem')}</span><span className="npu-grow" />{close}</div>
      <ul className="npu-problems">
        {problems.map((model) => (
          <li key={model.name}>
            <StatePill kind={modelState(model)} isPlain />
            <a className="npu-link npu-problem-name" href={routeHash('models', model.name)}>{model.name}</a>
            <span className="npu-mono npu-cut" title={failureReason(model)}>{failureReason(model)}</span>
          </li>
        ))}
      </ul>
      {problems.length === 0 && <EmptyState title={t('dock.noProblems')}>{t('dock.noProblemsHint')}</EmptyState>}
    </>
  )
}
