/** Everything else: sections generated from the schema, the parameters that no other part shows, and what the schema does not know. */
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { useDocumentValue } from './document-value.ts'
import { GENERATED_SECTIONS } from './control-kind.ts'
import { textMatches } from './field-search.ts'
import { isWritten, placedDiagnostics } from './field-state.ts'
import { Findings } from './form-field.tsx'
import { useAreShown, useIsShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { isSamePath, mapEntries, schemaAt, textAt, unknownFields } from './form-tree.ts'
import { useFormView } from './form-view-store.ts'
import { MapControl } from './map-control.tsx'
import { npuKeys } from './npu-options.ts'
import { isNpuBackend } from './placement.ts'
import { SchemaField } from './schema-fields.tsx'
import { showPathInText } from '../editor-view-store.ts'

export function GeneratedSections() {
  return GENERATED_SECTIONS.map(({ id, fields }) => <GeneratedSection key={id} id={id} paths={fields.map((name): ConfigPath => [name])} />)
}

function GeneratedSection({ id, paths }: { readonly id: (typeof GENERATED_SECTIONS)[number]['id']; readonly paths: readonly ConfigPath[] }) {
  const { t } = useTranslation('config-form')
  const areShown = useAreShown(paths)
  const written = useDocumentValue(({ tree }) => paths.filter((path) => isWritten(tree, path)).map(String))
  if (!areShown.includes(true)) return null
  return (
    <FormSection id={id} paths={paths} isFolding note={written.length === 0 ? undefined : t('written', { fields: written.join(', ') })}>
      {paths.map((path) => {
        const field = schemaAt(path)
        return field === null ? null : <SchemaField key={String(path)} path={path} field={field} />
      })}
    </FormSection>
  )
}

const PARAMETERS: ConfigPath = ['parameters']

export function ParametersSection() {
  const { t } = useTranslation('config-form')
  const isShown = useIsShown(PARAMETERS)
  const field = schemaAt(PARAMETERS)
  const keys = useDocumentValue(({ tree }) => mapEntries(tree.root, 'parameters').map(({ key }) => key))
  const elsewhere = useDocumentValue(({ tree }) => (isNpuBackend(textAt(tree, ['backend'])) ? npuKeys(tree) : []))
  const query = useFormView((state) => state.query)
  const isFound = query.trim() !== '' && keys.some((key) => textMatches(key, query))
  if (field === null || !(isShown || isFound)) return null
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
  const query = useFormView((state) => state.query)
  const unknown = useDocumentValue(({ tree, diagnostics }) => unknownFields(tree).filter(({ field }) => textMatches(field.name, query)).map(({ path, field }) => ({
    path, text: tree.text.slice(field.start, field.end).replace(/\s+/g, ' ').slice(0, 80),
    findings: placedDiagnostics(tree, diagnostics).filter((one) => isSamePath(one.path, path)).map(({ diagnostic }) => diagnostic),
  })))
  if (unknown.length === 0) return null
  return (
    <FormSection id="unknown" paths={[]} note={t('unknownNote')}>
      {unknown.map(({ path, text, findings }, index) => (
        <div className="npu-form-entry" key={index} data-path={JSON.stringify(path)}>
          <div className="npu-form-locked">
            <code className="npu-cut">{path.filter((step) => typeof step !== 'object').join('.')}</code>
            <code className="npu-cut npu-quiet">{text}</code>
            <button type="button" className="npu-link" onClick={() => showPathInText(path)}>{t('showInText')}</button>
          </div>
          <Findings diagnostics={findings} />
        </div>
      ))}
    </FormSection>
  )
}
