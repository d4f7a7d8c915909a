/** How requests become batches: the scheduler, and for dynamic batching a picture of what its numbers do. */
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'
import { Disclosure } from '../../../components/disclosure.tsx'
import { Segmented } from '../../../components/segmented.tsx'
import { useDocumentValue } from './document-value.ts'
import { edit, removing, setting } from './form-actions.ts'
import { BatchingSketch } from './batching-sketch.tsx'
import { FieldRow, GroupState } from './form-field.tsx'
import { useAreShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { setSectionOpen, useFormView } from './form-view-store.ts'
import { textMatches } from './field-search.ts'
import { useFieldText } from './field-text.ts'
import { isWritten } from './field-state.ts'
import { numberAt, numbersAt, schemaAt, valueAt } from './form-tree.ts'
import { ListControl, NumberControl } from './scalar-controls.tsx'
import { MessageFields } from './schema-fields.tsx'

const DYNAMIC: ConfigPath = ['dynamic_batching']
const DELAY: ConfigPath = [...DYNAMIC, 'max_queue_delay_microseconds']
const PREFERRED: ConfigPath = [...DYNAMIC, 'preferred_batch_size']

const SCHEDULERS = { off: null, dynamic: 'dynamic_batching', sequence: 'sequence_batching', ensemble: 'ensemble_scheduling' } as const
type Scheduler = keyof typeof SCHEDULERS
const OTHERS = ['sequence_batching', 'ensemble_scheduling'] as const

const dynamicType = schemaAt(DYNAMIC)?.type
const DYNAMIC_MESSAGE = dynamicType?.kind === 'message' ? dynamicType.message : null
/** Folded away. */
const REST = DYNAMIC_MESSAGE?.fields.map(({ name }) => name).filter((name) => name !== 'preferred_batch_size' && name !== 'max_queue_delay_microseconds') ?? []

export function BatchingSection() {
  const { t } = useTranslation('config-form')
  const [isDynamicShown, ...areOthersShown] = useAreShown([DYNAMIC, ...OTHERS.map((name) => [name])])
  const { words } = useFieldText()
  const query = useFormView((state) => state.query)
  const scheduler = useDocumentValue(({ tree }): Scheduler => (['dynamic', 'sequence', 'ensemble'] as const).find((one) => valueAt(tree, [SCHEDULERS[one]]) !== null) ?? 'off')
  const { max, delay, preferred, isPreferredWritten, written } = useDocumentValue(({ tree }) => ({
    max: numberAt(tree, ['max_batch_size']) ?? 0, delay: numberAt(tree, DELAY) ?? 0, preferred: numbersAt(tree, PREFERRED), isPreferredWritten: isWritten(tree, PREFERRED),
    written: REST.filter((name) => isWritten(tree, [...DYNAMIC, name])),
  }))
  // Of the other schedulers only the choice is made here: their fields, which have sections of their own, are not searched.
  const isOther = OTHERS.some((name, index) => areOthersShown[index] === true && textMatches(`${name} ${words([name])}`, query))
  if (isDynamicShown !== true && !isOther) return null
  const choose = (next: Scheduler): void => {
    if (next === scheduler) return
    const field = SCHEDULERS[next]
    const start: ConfigValue = next === 'sequence' ? { direct: {} } : {}
    edit(...Object.values(SCHEDULERS).flatMap((name) => (name === null ? [] : [removing([name])])), ...(field === null ? [] : [setting([field], start)]))
    if (next === 'sequence' || next === 'ensemble') setSectionOpen(next, true)
  }
  const isDynamic = scheduler === 'dynamic'
  const path: ConfigPath = scheduler === 'off' ? DYNAMIC : [SCHEDULERS[scheduler] ?? 'dynamic_batching']
  const preferredSchema = schemaAt(PREFERRED)
  return (
    <FormSection id="batching" paths={[DYNAMIC]}>
      <div className="npu-form-row" data-path={JSON.stringify(path)}>
        <div className="npu-form-label"><span>{t('batching.scheduler')}</span><code className="npu-form-name">{SCHEDULERS[scheduler] ?? ''}</code></div>
        <div className="npu-form-value">
          <div className="npu-form-control"><Segmented label={t('batching.scheduler')} value={scheduler} onChange={choose} options={(['off', 'dynamic', 'sequence', 'ensemble'] as const).map((value) => ({ value, label: t(`batching.${value}`) }))} /></div>
          <div className="npu-secondary npu-form-note">{t(`batching.${scheduler}Note`)}{isDynamic && max <= 1 ? ` ${t('batching.needsMax', { max })}` : ''}</div>
        </div>
      </div>
      {isDynamic && DYNAMIC_MESSAGE !== null && (
        <GroupState path={DYNAMIC}>{() => (
          <>
            <FieldRow path={DELAY} isKept>{(names) => <NumberControl path={DELAY} names={names} scalar="uint64" limits={{ min: 0, placeholder: '0', unit: t('batching.delayUnit') }} />}</FieldRow>
            <FieldRow path={PREFERRED} isKept note={!isPreferredWritten && max > 1 ? t('batching.preferredDefault', { max }) : undefined}>{(names) => preferredSchema !== null && <ListControl path={PREFERRED} names={names} field={preferredSchema} placeholder={max > 1 ? `[ ${max} ]` : '[ ]'} />}</FieldRow>
            {max > 1 && <BatchingSketch delay={delay} preferred={preferred} maxBatchSize={max} />}
            <Disclosure title={t('batching.more')} note={written.length > 0 ? written.join(', ') : undefined}>
              <div className="npu-form-nested"><MessageFields path={DYNAMIC} schema={DYNAMIC_MESSAGE} except={['preferred_batch_size', 'max_queue_delay_microseconds']} /></div>
            </Disclosure>
          </>
        )}</GroupState>
      )}
    </FormSection>
  )
}
