/** The text of one entry of `parameters`; empty takes it out. */
import { Input } from '@fluentui/react-components'
import { useDocumentValue } from './document-value.ts'
import { edit, settingParameter } from './form-actions.ts'
import type { ControlNames } from './form-field.tsx'
import { parameterAt } from './form-tree.ts'

export function ParameterLine({ name, names, placeholder = '' }: { readonly name: string; readonly names: ControlNames; readonly placeholder?: string }) {
  const value = useDocumentValue(({ tree }) => parameterAt(tree, name) ?? '')
  return <Input className="npu-form-text npu-form-mono" value={value} placeholder={placeholder} aria-labelledby={names.labelId} aria-describedby={names.describedBy} input={{ spellCheck: false }} onChange={(_event, data) => edit(settingParameter(name, data.value === '' ? null : data.value))} />
}
