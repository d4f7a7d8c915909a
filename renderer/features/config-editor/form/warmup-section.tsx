/** What makes the first request fast and the same request free: warm-up and the response cache. */
import { Button } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'
import type { PbtxtTree } from '../../../../server-core/model-config/pbtxt-tree.ts'
import { AddIcon } from '../../../components/icons.tsx'
import { useDocumentValue } from './document-value.ts'
import { edit, inserting } from './form-actions.ts'
import { FieldRow } from './form-field.tsx'
import { useAreShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { countAt, numberAt, numbersAt, schemaAt, textAt } from './form-tree.ts'
import { SwitchControl } from './scalar-controls.tsx'
import { GroupListField } from './schema-fields.tsx'

const CACHE: ConfigPath = ['response_cache', 'enable']
const WARMUP: ConfigPath = ['model_warmup']

export function WarmupSection() {
  const { t } = useTranslation('config-form')
  const [isCacheShown, isWarmupShown] = useAreShown([CACHE, WARMUP])
  const sample = useDocumentValue(({ tree }) => (countAt(tree, WARMUP) === 0 ? warmupFor(tree) : null))
  if (isCacheShown !== true && isWarmupShown !== true) return null
  const field = schemaAt(WARMUP)
  return (
    <FormSection id="warmup" paths={[['response_cache'], WARMUP]}>
      {isCacheShown && <div data-path={JSON.stringify(CACHE.slice(0, 1))}><FieldRow path={CACHE} name="response_cache.enable" note={t('warmup.cacheNote')}>{(names) => <SwitchControl path={CACHE} names={names} />}</FieldRow></div>}
      {field !== null && <GroupListField path={WARMUP} field={field} />}
      {isWarmupShown && sample !== null && <div className="npu-form-note"><Button className="npu-small" size="small" icon={<AddIcon />} onClick={() => edit(inserting(WARMUP, 0, sample))}>{t('warmup.fromInputs')}</Button></div>}
    </FormSection>
  )
}

/** A warm-up of zeros that fits the inputs; variable dims become 1. null where there is no input to fit. */
function warmupFor(tree: PbtxtTree): ConfigValue | null {
  const count = countAt(tree, ['input'])
  if (count === 0) return null
  const inputs = Object.fromEntries(Array.from({ length: count }, (_, index): [string, ConfigValue] => [
    textAt(tree, ['input', index, 'name']),
    { data_type: textAt(tree, ['input', index, 'data_type']), dims: numbersAt(tree, ['input', index, 'dims']).map((dim) => Math.max(1, dim)), zero_data: true },
  ]))
  return { name: 'zeros', batch_size: (numberAt(tree, ['max_batch_size']) ?? 0) > 0 ? 1 : 0, inputs }
}
