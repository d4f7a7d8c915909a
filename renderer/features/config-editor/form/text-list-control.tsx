/** A list of strings (or enum names): a row per item. */
import { Button, Input } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import type { FieldSchema } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import { IconButton } from '../../../components/icon-button.tsx'
import { AddIcon, CloseIcon } from '../../../components/icons.tsx'
import { useDocumentValue } from './document-value.ts'
import { edit, inserting, removingItem, setting } from './form-actions.ts'
import type { ControlNames } from './form-field.tsx'
import { useFieldText } from './field-text.ts'
import { valuesAtPath } from './field-state.ts'

export function TextListControl({ path, names }: { readonly path: ConfigPath; readonly field: FieldSchema; readonly names: ControlNames }) {
  const { t } = useTranslation('config-form')
  const text = useFieldText()
  const items = useDocumentValue(({ tree }) => valuesAtPath(tree, path).map((value) => (value.kind === 'scalar' ? String(value.value ?? '') : '')))
  return (
    <div className="npu-form-list">
      {items.map((item, index) => (
        <div key={index} className="npu-row">
          <Input className="npu-form-text npu-form-mono" value={item} aria-label={`${text.label(path)} ${index + 1}`} aria-describedby={names.describedBy} input={{ spellCheck: false }} onChange={(_event, { value }) => edit(setting([...path, index], value))} />
          <IconButton icon={<CloseIcon />} isRowAction label={t('removeItem', { item: item === '' ? String(index + 1) : item })} onClick={() => edit(removingItem(path, index))} />
        </div>
      ))}
      <Button className="npu-small" size="small" icon={<AddIcon />} aria-label={t('addField', { field: text.label(path) })} onClick={() => edit(inserting(path, items.length, ''))}>{t('add')}</Button>
    </div>
  )
}
