/** The text of one entry of `parameters`; empty takes it out. */
import { Input } from '@fluentui/react-components'
import { useConfigDocument } from '../config-document.ts'
import { edit, settingParameter } from './form-actions.ts'
import type { ControlNames } from './form-field.tsx'
import { parameterAt } from './form-tree.ts'

export function ParameterLine({ name, names, placeholder = '' }: { readonly name: string; readonly names: ControlNames; readonly placeholder?: string }) {
  const tree = useConfigDocument((state) => state.tree)
  return <Input className="npu-form-text npu-form-mono" value={parameterAt(tree, name) ?? ''} placeholder={placeholder} aria-labelledby={names.labelId} aria-describedby={names.describedBy} input={{ spellCheck: false }} onChange={(_event, { value }) => edit(settingParameter(name, value === '' ? null : value))} />
}
