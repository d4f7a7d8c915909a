/** Every problem of the config below the text, with its fixes. Click or Enter goes to the place; F8 walks through them. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { FixIcon } from '../../components/icons.tsx'
import { announce } from '../../components/live-region.tsx'
import { localized } from '../../lib/localized-text.ts'
import { applyAllFixes, applyEdits, useConfigDocument } from './config-document.ts'
import { goToText } from './editor-view-store.ts'
import { useLintFailure } from './lint-client.ts'
import { SeverityMark } from './severity-mark.tsx'

/** More are counted, not listed. */
const SHOWN_PROBLEMS = 200

export function ProblemsList() {
  const { t } = useTranslation('config-editor')
  const diagnostics = useConfigDocument((state) => state.diagnostics)
  const isCurrent = useConfigDocument((state) => state.checkedVersion === state.version)
  const failure = useLintFailure((state) => state.reason)
  const fixable = diagnostics.filter(({ fixes }) => fixes.some((fix) => fix.isPreferred)).length
  const shown = diagnostics.slice(0, SHOWN_PROBLEMS)
  // Buttons are numbered through the whole list, in its order.
  const firstFix = shown.map((_, index) => shown.slice(0, index).reduce((count, { fixes }) => count + fixes.length, 0))
  return (
    <section className="npu-config-problems" aria-label={t('problem.list')} data-testid="config-problems" data-checked={isCurrent}>
      <div className="npu-row npu-config-problems-head">
        <b>{t('problem.list')}</b><ProblemCount />
        <span className="npu-grow" />
        {fixable > 0 && <Button size="small" appearance="subtle" icon={<FixIcon />} data-testid="config-fix-all" onClick={() => { applyAllFixes(); announce(t('problem.fixedAll')) }}>{t('problem.fixAll', { count: fixable })}</Button>}
      </div>
      {failure !== null && <p className="npu-config-problem-none">{t('problem.checkStopped', { reason: failure })}</p>}
      {diagnostics.length === 0 ? <p className="npu-config-problem-none npu-quiet">{isCurrent ? t('problem.none') : t('problem.checking')}</p> : (
        <ol className="npu-config-problem-list">
          {shown.map((problem, index) => (
            <li key={`${problem.code} ${problem.offset} ${index}`} className="npu-config-problem">
              <button type="button" className="npu-config-problem-place" onClick={() => goToText(problem.offset, problem.offset)}>
                <SeverityMark severity={problem.severity} /><span className="npu-mono npu-quiet">{problem.line}:{problem.column}</span><span className="npu-config-problem-message">{localized(problem.message)}</span>
                <span className="npu-mono npu-quiet npu-config-problem-code">{problem.code}</span>
              </button>
              {problem.fixes.map((fix, fixIndex) => (
                <Button key={fixIndex} size="small" className="npu-small" appearance={fix.isPreferred ? 'outline' : 'subtle'} icon={<FixIcon />} data-testid={`config-fix-${(firstFix[index] ?? 0) + fixIndex}`} onClick={() => { applyEdits(fix.edits, 'fix'); announce(t('problem.fixed', { fix: localized(fix.title) })) }}>
                  {localized(fix.title)}
                </Button>
              ))}
            </li>
          ))}
          {diagnostics.length > SHOWN_PROBLEMS && <li className="npu-config-problem-none npu-quiet">{t('problem.more', { count: diagnostics.length - SHOWN_PROBLEMS })}</li>}
        </ol>
      )}
    </section>
  )
}

/** "1 error, 2 warnings". */
export function ProblemCount() {
  const { t } = useTranslation('config-editor')
  const diagnostics = useConfigDocument((state) => state.diagnostics)
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length
  const warnings = diagnostics.filter(({ severity }) => severity === 'warning').length
  return (
    <>
      {errors > 0 && <span className="npu-row npu-config-count"><SeverityMark severity="error" /><b className="npu-config-error-text">{t('problem.errors', { count: errors })}</b></span>}
      {warnings > 0 && <span className="npu-row npu-config-count"><SeverityMark severity="warning" />{t('problem.warnings', { count: warnings })}</span>}
    </>
  )
}
