/** Every problem of a text below it, with its fixes. Click or Enter goes to the place; F8 walks through them. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { ConfigDiagnostic, ConfigFix } from '../../../server-core/contract/config-language.ts'
import { localized } from '../../lib/localized-text.ts'
import { FixIcon } from '../icons.tsx'
import { announce } from '../live-region.tsx'
import { SeverityMark } from '../severity-mark.tsx'
import './code-editor.css'

/** More are counted, not listed. */
const SHOWN_PROBLEMS = 200

interface ProblemsListProps {
  readonly diagnostics: readonly ConfigDiagnostic[]
  /** They are of the text that is shown. */
  readonly isCurrent: boolean
  /** Why nothing is checked any more; null: all is well. */
  readonly failure: string | null
  /** Start of the test ids: `config` for `config-problems`. */
  readonly testId: string
  readonly onGoTo: (problem: ConfigDiagnostic) => void
  readonly onFix: (fix: ConfigFix) => void
  readonly onFixAll: () => void
}

export function ProblemsList({ diagnostics, isCurrent, failure, testId, onGoTo, onFix, onFixAll }: ProblemsListProps) {
  const { t } = useTranslation('config-editor')
  const fixable = diagnostics.filter(({ fixes }) => fixes.some((fix) => fix.isPreferred)).length
  const shown = diagnostics.slice(0, SHOWN_PROBLEMS)
  // Buttons are numbered through the whole list, in its order.
  const firstFix = shown.map((_, index) => shown.slice(0, index).reduce((count, { fixes }) => count + fixes.length, 0))
  return (
    <section className="npu-editor-problems" aria-label={t('problem.list')} data-testid={`${testId}-problems`} data-checked={isCurrent}>
      <div className="npu-row npu-editor-problems-head">
        <b>{t('problem.list')}</b><ProblemCount diagnostics={diagnostics} />
        <span className="npu-grow" />
        {fixable > 0 && <Button size="small" appearance="subtle" icon={<FixIcon />} data-testid={`${testId}-fix-all`} onClick={() => { onFixAll(); announce(t('problem.fixedAll')) }}>{t('problem.fixAll', { count: fixable })}</Button>}
      </div>
      {failure !== null && <p className="npu-editor-problem-none">{t('problem.checkStopped', { reason: failure })}</p>}
      {diagnostics.length === 0 ? <p className="npu-editor-problem-none npu-quiet">{isCurrent ? t('problem.none') : t('problem.checking')}</p> : (
        <ol className="npu-editor-problem-list">
          {shown.map((problem, index) => (
            <li key={`${problem.code} ${problem.offset} ${index}`} className="npu-editor-problem">
              <button type="button" className="npu-editor-problem-place" onClick={() => onGoTo(problem)}>
                <SeverityMark severity={problem.severity} /><span className="npu-mono npu-quiet">{problem.line}:{problem.column}</span><span className="npu-editor-problem-message">{localized(problem.message)}</span>
                <span className="npu-mono npu-quiet npu-editor-problem-code">{problem.code}</span>
              </button>
              {problem.fixes.map((fix, fixIndex) => (
                <Button key={fixIndex} size="small" className="npu-small" appearance={fix.isPreferred ? 'outline' : 'subtle'} icon={<FixIcon />} data-testid={`${testId}-fix-${(firstFix[index] ?? 0) + fixIndex}`} onClick={() => { onFix(fix); announce(t('problem.fixed', { fix: localized(fix.title) })) }}>
                  {localized(fix.title)}
                </Button>
              ))}
            </li>
          ))}
          {diagnostics.length > SHOWN_PROBLEMS && <li className="npu-editor-problem-none npu-quiet">{t('problem.more', { count: diagnostics.length - SHOWN_PROBLEMS })}</li>}
        </ol>
      )}
    </section>
  )
}

/** "1 error, 2 warnings". */
export function ProblemCount({ diagnostics }: Pick<ProblemsListProps, 'diagnostics'>) {
  const { t } = useTranslation('config-editor')
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning').length
  return (
    <>
      {errors > 0 && <span className="npu-row npu-editor-count"><SeverityMark severity="error" /><b className="npu-editor-error-text">{t('problem.errors', { count: errors })}</b></span>}
      {warnings > 0 && <span className="npu-row npu-editor-count"><SeverityMark severity="warning" />{t('problem.warnings', { count: warnings })}</span>}
    </>
  )
}
