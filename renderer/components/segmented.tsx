/** A few choices side by side, one of them taken: native radio buttons, so arrow keys and names come from the browser. */
import { useId } from 'react'
import './segmented.css'

interface SegmentedProps<Value extends string> {
  /** Name of the group for screen readers. */
  readonly label: string
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

export function Segmented<Value extends string>({ label, options, value, onChange }: SegmentedProps<Value>) {
  const name = useId()
  return (
    <div className="npu-segmented" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value} className={option.value === value ? 'npu-segment npu-segment-on' : 'npu-segment'}>
          <input type="radio" className="npu-segment-input" name={name} value={option.value} checked={option.value === value} onChange={() => onChange(option.value)} />
          {option.label}
        </label>
      ))}
    </div>
  )
}
