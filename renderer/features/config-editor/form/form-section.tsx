/** A part of the form under one heading. The first sections stand open, the others fold; a search opens what it finds. */
import type { ReactNode } from 'react'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { ChevronDownIcon, ChevronRightIcon } from '../../../components/icons.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import type { SectionId } from './control-kind.ts'
import { useFindings } from './field-state.ts'
import { setSectionOpen, useFormView } from './form-view-store.ts'

interface FormSectionProps {
  readonly id: SectionId
  /** What the section is about: its problems are counted in its head. */
  readonly paths: readonly ConfigPath[]
  readonly note?: ReactNode
  /** At the right end of the head. */
  readonly actions?: ReactNode
  readonly isFolding?: boolean
  readonly children: ReactNode
}

export function FormSection({ id, paths, note, actions, isFolding = false, children }: FormSectionProps) {
  const { t } = useTranslation('config-form')
  const headId = useId()
  const isOpen = useIsSectionOpen(id, isFolding)
  const findings = useFindings(paths)
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const title = t(`section.${id}`)
  return (
    <section className="npu-form-section" aria-labelledby={headId} data-section={id}>
      <div className="npu-form-section-head">
        {isFolding
          ? <h2><button type="button" className="npu-form-fold" aria-expanded={isOpen} onClick={() => setSectionOpen(id, !isOpen)}>{isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}<span id={headId}>{title}</span></button></h2>
          : <h2 id={headId}>{title}</h2>}
        {note !== undefined && <span className="npu-quiet npu-small-text npu-form-section-note">{note}</span>}
        {!isOpen && findings.length > 0 && <span className="npu-form-count"><StateMark kind={errors > 0 ? 'failed' : 'degraded'} isDecoration /> {t('problems', { count: findings.length })}</span>}
        <span className="npu-grow" />
        {actions}
      </div>
      {isOpen && <div className="npu-form-section-body">{children}</div>}
    </section>
  )
}

export function useIsSectionOpen(id: SectionId, isFolding: boolean): boolean {
  return useFormView(({ opened, query, scope }) => !isFolding || query.trim() !== '' || scope !== 'all' || opened[id] === true)
}
