/** Name, backend, model file and versions. */
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { Segmented } from '../../../components/segmented.tsx'
import { useConfigDocument } from '../config-document.ts'
import { useDocumentValue } from './document-value.ts'
import { edit, removing, setting } from './form-actions.ts'
import { FieldRow } from './form-field.tsx'
import { useAreShown } from './form-filter.tsx'
import { FormSection } from './form-section.tsx'
import { messageAt, numberAt, numbersAt, valueAt } from './form-tree.ts'
import { schemaAt } from './form-tree.ts'
import { ListControl, NumberControl, TextControl } from './scalar-controls.tsx'

const NAME: ConfigPath = ['name']
const BACKEND: ConfigPath = ['backend']
const FILE: ConfigPath = ['default_model_filename']
const POLICY: ConfigPath = ['version_policy']
const LATEST: ConfigPath = ['version_policy', 'latest', 'num_versions']
const SPECIFIC: ConfigPath = ['version_policy', 'specific', 'versions']
/** Suggested beside what this server can run. */
const KNOWN_BACKENDS = ['onnxruntime', 'npu_ge', 'npu_om', 'python', 'identity']

export function ModelSection() {
  const { t } = useTranslation('config-form')
  const context = useConfigDocument((state) => state.context)
  const paths = [NAME, BACKEND, FILE, POLICY]
  const areShown = useAreShown(paths)
  if (!areShown.includes(true)) return null
  const files = [...new Set(context.versions.flatMap((version) => version.files))]
  const backends = [...new Set([...(context.backends ?? []), ...KNOWN_BACKENDS])]
  return (
    <FormSection id="model" paths={paths}>
      <FieldRow path={NAME}>{(names) => <TextControl path={NAME} names={names} placeholder={context.modelName ?? ''} />}</FieldRow>
      <FieldRow path={BACKEND}>{(names) => <TextControl path={BACKEND} names={names} placeholder={t('fromFile')} suggestions={backends} />}</FieldRow>
      <FieldRow path={FILE}>{(names) => <TextControl path={FILE} names={names} placeholder={t('byBackend')} suggestions={files} />}</FieldRow>
      <VersionPolicy />
    </FormSection>
  )
}

type Policy = 'default' | 'latest' | 'all' | 'specific'

function VersionPolicy() {
  const { t } = useTranslation('config-form')
  const versions = useConfigDocument((state) => state.context.versions)
  const { policy, chosen, latest, isSpecificOpen } = useDocumentValue(({ tree }) => ({
    policy: (['latest', 'all', 'specific'] as const).find((name) => valueAt(tree, [...POLICY, name]) !== null) ?? ('default' as Policy),
    chosen: numbersAt(tree, SPECIFIC), latest: numberAt(tree, LATEST) ?? 1, isSpecificOpen: messageAt(tree, [...POLICY, 'specific']) !== null,
  }))
  const choose = (next: Policy): void => {
    switch (next) {
      case 'default': edit(removing(POLICY)); break
      case 'latest': edit(setting(POLICY, { latest: { num_versions: 1 } })); break
      case 'all': edit(setting(POLICY, { all: {} })); break
      case 'specific': edit(setting(POLICY, { specific: { versions: versions.map(({ version }) => version).slice(-1) } })); break
    }
  }
  const toggle = (version: number): void => {
    const next = chosen.includes(version) ? chosen.filter((one) => one !== version) : [...chosen, version].sort((left, right) => left - right)
    edit(setting(SPECIFIC, next))
  }
  const specificSchema = schemaAt(SPECIFIC)
  return (
    <FieldRow path={POLICY} isKept note={policy === 'default' ? t('policy.defaultNote') : undefined}>{(names) => (
      <>
        <span className="npu-form-whole" data-path={JSON.stringify(policy === 'default' ? POLICY : [...POLICY, policy])}><Segmented label={t('label.version_policy')} value={policy} onChange={choose} options={(['default', 'latest', 'all', 'specific'] as const).map((value) => ({ value, label: t(`policy.${value}`) }))} /></span>
        {policy === 'latest' && <span className="npu-form-control" data-path={JSON.stringify(LATEST)}><NumberControl path={LATEST} names={names} scalar="uint32" limits={{ min: 1, placeholder: '1', unit: t('policy.versions', { count: latest }) }} /></span>}
        {policy === 'specific' && isSpecificOpen && (
          <span className="npu-form-control" data-path={JSON.stringify(SPECIFIC)}>
            {versions.map(({ version }) => <button key={version} type="button" className="npu-form-chip" aria-pressed={chosen.includes(version)} onClick={() => toggle(version)}>{version}</button>)}
            {specificSchema !== null && (versions.length === 0 || chosen.some((one) => !versions.some(({ version }) => version === one))) && <ListControl path={SPECIFIC} names={names} field={specificSchema} keepsEmpty />}
          </span>
        )}
      </>
    )}</FieldRow>
  )
}
