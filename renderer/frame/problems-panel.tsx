/** Models that failed or serve only in part, each with its reason and the way to its error card; and code that was looked at and has problems. */
import { useTranslation } from 'react-i18next'
import { useShallow } from 'zustand/react/shallow'
import type { ReactNode } from 'react'
import { EmptyState } from '../components/empty-state.tsx'
import { SeverityMark } from '../components/severity-mark.tsx'
import { StatePill } from '../components/state-pill.tsx'
import { useConsole } from '../console-store.ts'
import { useCodeProblems } from '../lib/code-problems.ts'
import { compareByAttention, failureReason, modelState } from '../lib/model-state.ts'
import { routeHash } from '../router.ts'

export function ProblemsPanel({ close }: { readonly close: ReactNode }) {
  const { t } = useTranslation()
  const problems = useConsole(useShallow((state) => (state.models ?? []).filter((model) => ['failed', 'degraded'].includes(modelState(model))).sort(compareByAttention)))
  const code = useCodeProblems((state) => state.found)
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
        {code.map(({ modelName, file, errors, warnings }) => (
          <li key={`${modelName}/${file}`} data-testid="dock-code-problem">
            <SeverityMark severity={errors > 0 ? 'error' : 'warning'} />
            <a className="npu-link npu-problem-name" href={routeHash('models', modelName, 'code')}>{modelName}</a>
            <span className="npu-cut">{t('model-code:dock', { file, count: errors + warnings })}</span>
          </li>
        ))}
      </ul>
      {problems.length + code.length === 0 && <EmptyState title={t('dock.noProblems')}>{t('dock.noProblemsHint')}</EmptyState>}
    </>
  )
}
