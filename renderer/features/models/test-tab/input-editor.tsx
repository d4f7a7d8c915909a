/** One model input: shape with editable dims, values as JSON text, a generator, or a file of raw bytes. */
import { Button, Checkbox, Input, Textarea } from '@fluentui/react-components'
import { useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import type { SampleInput } from '../../../../server-core/contract/console-api.ts'
import { FileIcon } from '../../../components/icons.tsx'
import { StateMark } from '../../../components/state-pill.tsx'
import { formatBytes, formatCount } from '../../../lib/format.ts'
import { draftShape, draftTensor, fitsFile, GENERATORS, TEXT_ELEMENTS, withDim, withFile, withGenerator, type InputDraft } from '../../../../server-core/tensors/input-draft.ts'
import { elementCount } from '../../../../server-core/tensors/tensor-codec.ts'

interface InputEditorProps {
  readonly draft: InputDraft
  /** Files of raw bytes that lie beside the model. */
  readonly samples: readonly SampleInput[]
  readonly onChange: (draft: InputDraft) => void
  readonly onSample: (path: string) => void
}

export function InputEditor({ draft, samples, onChange, onSample }: InputEditorProps) {
  const { t } = useTranslation('test-tab')
  const id = useId()
  const fileInput = useRef<HTMLInputElement>(null)
  const result = draft.isSent ? draftTensor(draft) : null
  const problem = result !== null && !result.ok ? result.problem : null
  const count = elementCount(draftShape(draft))
  const takeFile = async (file: File | undefined) => {
    if (file) onChange(withFile(draft, file.name, new Uint8Array(await file.arrayBuffer())))
  }
  return (
    <section className="npu-input" aria-label={t('input.name', { name: draft.name })}>
      <div className="npu-row npu-input-head">
        {draft.isOptional && <Checkbox checked={draft.isSent} onChange={(_, data) => onChange({ ...draft, isSent: data.checked === true })} aria-label={t('input.send', { name: draft.name })} />}
        <b className="npu-mono">{draft.name}</b><span className="npu-mono npu-quiet">{draft.datatype}</span>
        {draft.isOptional && <span className="npu-quiet npu-small-text">{t('input.optional')}</span>}
        <span className="npu-grow" />
        <ShapeEditor draft={draft} onChange={onChange} />
      </div>
      {draft.isSent && (
        <>
          <div className="npu-row npu-input-tools">
            <span className="npu-quiet npu-small-text">{t('input.fill')}</span>
            {GENERATORS.map((generator) => (
              <Button key={generator} size="small" className="npu-small" aria-pressed={draft.source.kind !== 'file' && draft.source.generator === generator} disabled={Number.isNaN(count)}
                onClick={() => onChange(withGenerator(draft, generator, generator === 'random' ? draft.seed + 1 : draft.seed))}>{t(`input.${generator}`)}</Button>
            ))}
            {samples.filter((sample) => fitsFile(draft, sample.byteSize)).map((sample) => (
              <Button key={sample.path} size="small" className="npu-small" aria-pressed={draft.source.kind === 'file' && draft.source.fileName === sample.path} onClick={() => onSample(sample.path)}>{sample.path.replace(/^samples\//, '')}</Button>
            ))}
            <Button size="small" className="npu-small" icon={<FileIcon />} onClick={() => fileInput.current?.click()}>{t('input.file')}</Button>
            <input ref={fileInput} type="file" hidden onChange={(event) => { void takeFile(event.target.files?.[0]); event.target.value = '' }} />
            <span className="npu-grow" />
            {!Number.isNaN(count) && <span className="npu-quiet npu-small-text">{t('input.elements', { count, elements: formatCount(count) })}</span>}
          </div>
          {draft.source.kind === 'text' && (
            <Textarea className="npu-input-text" textarea={{ className: 'npu-mono', rows: draft.source.text.length > 160 ? 5 : 2, spellCheck: false }} value={draft.source.text} resize="vertical" aria-label={t('input.values', { name: draft.name })}
              aria-invalid={problem !== null} {...(problem === null ? {} : { 'aria-describedby': id })}
              onChange={(_, data) => onChange({ ...draft, source: { kind: 'text', text: data.value, generator: null } })} />
          )}
          {draft.source.kind === 'generated' && <p className="npu-input-note npu-secondary">{t('input.generated', { what: t(`input.${draft.source.generator}`), most: formatCount(TEXT_ELEMENTS) })}</p>}
          {draft.source.kind === 'file' && (
            <p className="npu-input-note npu-row"><FileIcon /><span className="npu-mono npu-cut">{draft.source.fileName}</span><span className="npu-quiet">{formatBytes(draft.source.data.byteLength)}</span></p>
          )}
          {problem !== null && <p id={id} className="npu-input-problem"><StateMark kind="failed" isDecoration />{t(`problem.${problem.key}`, problem.values)}</p>}
        </>
      )}
    </section>
  )
}

function ShapeEditor({ draft, onChange }: { readonly draft: InputDraft; readonly onChange: (draft: InputDraft) => void }) {
  const { t } = useTranslation('test-tab')
  return (
    <span className="npu-row npu-shape npu-mono">
      [{draft.modelShape.map((dim, axis) => (
        <span key={axis} className="npu-row npu-shape-dim">
          {dim >= 0 ? dim : <Input size="small" className="npu-shape-input" value={draft.shapeText[axis] ?? ''} inputMode="numeric" aria-label={t('input.dim', { name: draft.name, axis: axis + 1 })} onChange={(_, data) => onChange(withDim(draft, axis, data.value))} />}
          {axis < draft.modelShape.length - 1 && ','}
        </span>
      ))}]
    </span>
  )
}
