/** Everything else: sections generated from the schema, the parameters that no other part shows, and what the schema does not know. */
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { useConfigDocument } from '../config-document.ts'
import { GENERATED_SECTIONS } from './control-kind.ts'
import { textMatches } from './field-search.ts'
import { isWritten, placedDiagnostics } from './field-state.ts'
import { Findings } from './form-field.tsx'
import { useShownFields } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { isSamePath, mapEntries, schemaAt, textAt, unknownFields } from './form-tree.ts'
import { useFormView } from './form-view-store.ts'
import { MapControl } from './map-control.tsx'
import { npuKeys } from './npu-options.ts'
import { isNpuBackend } from './placement.ts'
import { SchemaField } from './schema-fields.tsx'
import { showPathInText } from '../editor-view-store.ts'

export function GeneratedSections() {
  const { t } = useTranslation('config-form')
  const tree = useConfigDocument((state) => state.tree)
  const isShown = useShownFields()
  return GENERATED_SECTIONS.filter(({ fields }) => fields.some((name) => isShown([name]))).map(({ id, fields }) => {
    const written = fields.filter((name) => isWritten(tree, [name]))
    return (
      <FormSection key={id} id={id} paths={fields.map((name): ConfigPath => [name])} isFolding note={written.length === 0 ? undefined : t('written', { fields: written.join(', ') })}>
        {fields.map((name) => {
          const field = schemaAt([name])
          return field === null ? null : <SchemaField key={name} path={[name]} field={field} />
        })}
      </FormSection>
    )
  })
}

const PARAMETERS: ConfigPath = ['parameters']

export function ParametersSection() {
  const { t } = useTranslation('config-form')
  const tree = useConfigDocument((state) => state.tree)
  const isShown = useShownFields()
  const field = schemaAt(PARAMETERS)
  const keys = mapEntries(tree.root, 'parameters').map(({ key }) => key)
  const query = useFormView((state) => state.query)
  const isFound = query.trim() !== '' && keys.some((key) => textMatches(key, query))
  if (field === null || !(isShown(PARAMETERS) || isFound)) return null
  const elsewhere = isNpuBackend(textAt(tree, ['backend'])) ? npuKeys(tree) : []
  const own = [...new Set(keys)].filter((key) => !elsewhere.includes(key))
  return (
    <FormSection id="parameters" paths={own.map((key): ConfigPath => ['parameters', { key }])} isFolding note={own.length === 0 ? undefined : t('entries', { count: own.length })}>
      <p className="npu-secondary">{t('parametersNote')}</p>
      <MapControl path={PARAMETERS} field={field} exceptKeys={elsewhere} valuePath={['value', 'string_value']} isHeadless />
    </FormSection>
  )
}

/** Fields that no schema knows: their text, what is wrong, and the fixes. They are changed as text only. */
export function UnknownSection() {
  const { t } = useTranslation('config-form')
  const { tree, diagnostics } = useConfigDocument()
  const query = useFormView((state) => state.query)
  const unknown = unknownFields(tree).filter(({ field }) => textMatches(field.name, query))
  if (unknown.length === 0) return null
  const placed = placedDiagnostics(tree, diagnostics)
  return (
    <FormSection id="unknown" paths={[]} note={t('unknownNote')}>
      {unknown.map(({ path, field }) => (
        <div className="npu-form-entry" key={field.start} data-path={JSON.stringify(path)}>
          <div className="npu-form-locked">
            <code className="npu-cut">{path.filter((step) => typeof step !== 'object').join('.')}</code>
            <code className="npu-cut npu-quiet">{tree.text.slice(field.start, field.end).replace(/\s+/g, ' ').slice(0, 80)}</code>
            <button type="button" className="npu-link" onClick={() => showPathInText(path)}>{t('showInText')}</button>
          </div>
          <Findings diagnostics={placed.filter((one) => isSamePath(one.path, path)).map(({ diagnostic }) => diagnostic)} />
        </div>
      ))}
    </FormSection>
  )
}
