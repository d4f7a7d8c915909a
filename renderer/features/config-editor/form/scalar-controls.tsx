/** Controls of single values and one-line lists. Each keystroke that can be read is an edit; what cannot be read stays in the control, with the reason. */
import { Input, Select, Slider, Switch } from '@fluentui/react-components'
import type { TFunction } from 'i18next'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { EnumSchema, FieldSchema, ScalarType } from '../../../../server-core/model-config/config-schema.ts'
import type { ConfigPath } from '../../../../server-core/model-config/config-path.ts'
import type { ConfigValue } from '../../../../server-core/model-config/config-style.ts'
import { useDocumentValue } from './document-value.ts'
import { unitOf } from './control-kind.ts'
import { edit, removing, setting } from './form-actions.ts'
import type { ControlNames } from './form-field.tsx'
import { formatList, rangeOf, readBooleanList, readNumber, readNumberList } from './list-text.ts'
import type { ListReading } from './list-text.ts'
import { scalarAt, textAt } from './form-tree.ts'
import { isWritten, valuesAtPath } from './field-state.ts'

/** What is typed, as long as the document says what it was read as. */
export function useDraft(shown: string): { readonly text: string; type(text: string, readAs: string): void; leave(): void } {
  const [draft, setDraft] = useState<{ readonly text: string; readonly readAs: string } | null>(null)
  const isOurs = draft !== null && draft.readAs === shown
  return { text: isOurs ? draft.text : shown, type: (text, readAs) => setDraft({ text, readAs }), leave: () => setDraft(null) }
}

/** Sets what is not the default, or is there already; an emptied control takes the field out. */
function write(path: ConfigPath, value: ConfigValue, isEmpty: boolean): void {
  edit(isEmpty ? removing(path) : setting(path, value))
}

interface ControlProps { readonly path: ConfigPath; readonly names: ControlNames }

export function TextControl({ path, names, placeholder, suggestions, isMono = true, keepsEmpty = false }: ControlProps & { readonly placeholder?: string; readonly suggestions?: readonly string[]; readonly isMono?: boolean; readonly keepsEmpty?: boolean }) {
  const shown = useDocumentValue(({ tree }) => textAt(tree, path))
  const draft = useDraft(shown)
  const listId = `${names.labelId}-choices`
  const hasList = suggestions !== undefined && suggestions.length > 0
  return (
    <>
      <Input
        className={`npu-form-text${isMono ? ' npu-form-mono' : ''}`} value={draft.text} placeholder={placeholder ?? ''} aria-labelledby={names.labelId} aria-describedby={names.describedBy} aria-invalid={names.isWrong}
        input={{ list: hasList ? listId : undefined, spellCheck: false }}
        onChange={(_event, { value }) => { draft.type(value, value); write(path, value, value === '' && !keepsEmpty) }}
      />
      {hasList && <datalist id={listId}>{suggestions.map((choice) => <option key={choice} value={choice} />)}</datalist>}
    </>
  )
}

interface NumberLimits {
  readonly min?: number
  readonly max?: number
  /** Draws a slider to this number; larger ones can be typed. */
  readonly slideTo?: number
  readonly unit?: string
  readonly placeholder?: string
}

export function NumberControl({ path, names, scalar, limits = {}, onWrite }: ControlProps & { readonly scalar: ScalarType; readonly limits?: NumberLimits; readonly onWrite?: (value: number | bigint | null) => void }) {
  const { t } = useTranslation('config-form')
  const value = useDocumentValue(({ tree }) => scalarAt(tree, path))
  const shown = value === null ? '' : String(value)
  const put = (next: number | bigint | null): void => (onWrite !== undefined ? onWrite(next) : write(path, next ?? 0, next === null))
  return <NumberField shown={shown} names={names} scalar={scalar} limits={{ ...limits, unit: limits.unit ?? unitText(t, lastStep(path)) }} onChange={put} />
}

function lastStep(path: ConfigPath): string {
  const last = path.at(-1)
  return typeof last === 'string' ? last : ''
}

function unitText(t: TFunction<'config-form'>, name: string): string {
  const unit = unitOf(name)
  return unit === null ? '' : t(`unit.${unit}`)
}

/** A number field, with a slider before it where there is a far end. */
export function NumberField({ shown, names, scalar, limits, onChange }: { readonly shown: string; readonly names: ControlNames; readonly scalar: ScalarType; readonly limits: NumberLimits; readonly onChange: (value: number | bigint | null) => void }) {
  const { t } = useTranslation('config-form')
  const draft = useDraft(shown)
  const [problem, setProblem] = useState<string | null>(null)
  const { min = least(scalar), max = most(scalar), slideTo, unit = '', placeholder = '' } = limits
  const isFraction = scalar === 'float' || scalar === 'double'
  const take = (text: string): void => {
    if (text === '') {
      draft.type('', '')
      setProblem(null)
      onChange(null)
      return
    }
    const reading = readNumber(text.trim(), scalar)
    const value = 'values' in reading ? reading.values[0] : undefined
    if (value === undefined || (min !== undefined && value < min) || (max !== undefined && value > max)) {
      draft.type(text, shown)
      setProblem('problem' in reading ? t(`problem.${reading.problem}`, { part: text }) : rangeText(t, min, max))
      return
    }
    draft.type(text, String(value))
    setProblem(null)
    onChange(value)
  }
  const isProblem = problem !== null && draft.text !== shown
  return (
    <>
      {slideTo !== undefined && <Slider className="npu-form-slider" min={min ?? 0} max={Math.max(slideTo, Number(shown) || 0)} value={shown === '' ? Number(placeholder) || min || 0 : Number(shown)} aria-labelledby={names.labelId} onChange={(_event, data) => take(String(data.value))} />}
      <Input
        className="npu-form-number" type="number" value={draft.text} placeholder={placeholder} min={min} max={max} step={isFraction ? 'any' : 1} aria-labelledby={names.labelId} aria-describedby={names.describedBy} aria-invalid={names.isWrong || isProblem}
        onChange={(_event, data) => take(data.value)} onBlur={() => { if (!isProblem) draft.leave() }}
      />
      {unit !== '' && <span className="npu-quiet npu-small-text npu-form-unit">{unit}</span>}
      {isProblem && <span className="npu-form-problem" role="alert">{problem}</span>}
    </>
  )
}

function least(scalar: ScalarType): number | undefined {
  const range = rangeOf(scalar)
  return range === undefined || scalar === 'int64' ? undefined : Number(range[0])
}

function most(scalar: ScalarType): number | undefined {
  return scalar === 'int32' || scalar === 'uint32' ? Number(rangeOf(scalar)?.[1]) : undefined
}

function rangeText(t: TFunction<'config-form'>, min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return t('problem.range', { min, max })
  return min === undefined ? t('problem.atMost', { max }) : t('problem.atLeast', { min })
}

export function SwitchControl({ path, names }: ControlProps) {
  const { t } = useTranslation('config-form')
  const isOn = useDocumentValue(({ tree }) => scalarAt(tree, path) === true)
  return <Switch className="npu-form-switch" checked={isOn} label={isOn ? t('on') : t('off')} aria-labelledby={names.labelId} aria-describedby={names.describedBy} onChange={(_event, { checked }) => edit(setting(path, checked))} />
}

export function ChoiceControl({ path, names, schema, label }: ControlProps & { readonly schema: EnumSchema; readonly label?: (name: string) => string }) {
  const { t } = useTranslation('config-form')
  const chosen = useDocumentValue(({ tree }) => textAt(tree, path))
  const choices = Object.keys(schema.values)
  const [fallback = ''] = choices
  return (
    <Select className="npu-form-choice" value={chosen} aria-labelledby={names.labelId} aria-describedby={names.describedBy} aria-invalid={names.isWrong} onChange={(_event, { value }) => write(path, value, value === '')}>
      <option value="">{fallback === 'TYPE_INVALID' ? t('choose') : t('notWritten', { value: fallback })}</option>
      {choices.filter((name) => name !== 'TYPE_INVALID').map((name) => <option key={name} value={name}>{label?.(name) ?? name}</option>)}
    </Select>
  )
}

/** Numbers or booleans in one line. An empty line takes the field out, unless the list must be there. */
export function ListControl({ path, names, field, placeholder, keepsEmpty = false }: ControlProps & { readonly field: FieldSchema; readonly placeholder?: string; readonly keepsEmpty?: boolean }) {
  const { t } = useTranslation('config-form')
  const shown = useDocumentValue(({ tree }) => {
    const values = valuesAtPath(tree, path).flatMap((value) => (value.kind === 'scalar' && value.value !== null ? [value.value] : []))
    return values.length === 0 && !isWritten(tree, path) ? '' : formatList(values)
  })
  const draft = useDraft(shown)
  const [problem, setProblem] = useState<string | null>(null)
  const scalar = field.type.kind === 'scalar' ? field.type.scalar : 'string'
  const take = (text: string): void => {
    const reading: ListReading<ConfigValue> = scalar === 'bool' ? readBooleanList(text) : readNumberList(text, scalar)
    if ('problem' in reading) {
      draft.type(text, shown)
      setProblem(t(`problem.${reading.problem}`, { part: reading.part }))
      return
    }
    setProblem(null)
    const isEmpty = reading.values.length === 0
    draft.type(text, isEmpty ? '' : formatList(reading.values))
    write(path, reading.values, isEmpty && !keepsEmpty)
  }
  const isProblem = problem !== null && draft.text !== shown
  return (
    <>
      <Input className="npu-form-text npu-form-mono" value={draft.text} placeholder={placeholder ?? '[ ]'} aria-labelledby={names.labelId} aria-describedby={names.describedBy} aria-invalid={names.isWrong || isProblem} input={{ spellCheck: false }} onChange={(_event, { value }) => take(value)} onBlur={() => { if (!isProblem) draft.leave() }} />
      {isProblem && <span className="npu-form-problem" role="alert">{problem}</span>}
    </>
  )
}

