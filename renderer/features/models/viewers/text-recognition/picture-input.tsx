/** The picture of a text line: samples, a file chosen or dropped, and every step of its preparation with its numbers. */
import { Button } from '@fluentui/react-components'
import { Fragment, useEffect, useRef, useState } from 'react'
import type { DragEvent } from 'react'
import { useTranslation } from 'react-i18next'
import type { SampleInput } from '../../../../../server-core/contract/console-api.ts'
import { Card } from '../../../../components/card.tsx'
import { ErrorNotice } from '../../../../components/error-notice.tsx'
import { ChevronRightIcon, ImageIcon } from '../../../../components/icons.tsx'
import { formatDecimal, formatShape } from '../../../../lib/format.ts'
import { PADDLE_RECOGNITION, type Picture } from '../../../../../server-core/tensors/image-tensor.ts'
import type { PreparedPicture } from './recognition-model.ts'
import type { ChosenPicture } from './recognition-store.ts'

interface PictureInputProps {
  readonly samples: readonly SampleInput[]
  readonly chosen: ChosenPicture | null
  readonly prepared: PreparedPicture | null
  readonly problem: { readonly name: string; readonly error: unknown } | null
  readonly onSample: (path: string) => void
  readonly onFile: (file: File) => void
}

export function PictureInput({ samples, chosen, prepared, problem, onSample, onFile }: PictureInputProps) {
  const { t } = useTranslation('test-tab')
  const fileInput = useRef<HTMLInputElement>(null)
  const [isHovering, setHovering] = useState(false)
  const drop = {
    onDragOver: (event: DragEvent) => { if (carriesPicture(event)) { event.preventDefault(); setHovering(true) } },
    onDragLeave: () => setHovering(false),
    onDrop: (event: DragEvent) => {
      setHovering(false)
      const file = [...event.dataTransfer.files].find((candidate) => candidate.type.startsWith('image/'))
      if (!file) return
      event.preventDefault()
      onFile(file)
    },
  }
  return (
    <div className={isHovering ? 'npu-picture-drop npu-picture-drop-on' : 'npu-picture-drop'} {...drop}>
      <Card title={t('picture.title')} note={chosen ? <span className="npu-mono">{chosen.name}</span> : undefined}
        actions={<Button size="small" className="npu-small" icon={<ImageIcon />} onClick={() => fileInput.current?.click()}>{t('picture.choose')}</Button>}>
        <input ref={fileInput} type="file" accept="image/*" hidden data-testid="picture-file" onChange={(event) => { const file = event.target.files?.[0]; if (file) onFile(file); event.target.value = '' }} />
        {samples.length > 1 && (
          <div className="npu-row npu-picture-samples" role="group" aria-label={t('picture.samples')}>
            <span className="npu-quiet npu-small-text">{t('picture.samples')}</span>
            {samples.map((sample) => <Button key={sample.path} size="small" className="npu-small" aria-pressed={sample.path === chosen?.name} onClick={() => onSample(sample.path)}>{sample.path.replace(/^samples\//, '')}</Button>)}
          </div>
        )}
        {problem !== null && <ErrorNotice sentence={t('picture.unusable', { name: problem.name })} nextStep={t('picture.unusableHint')} error={problem.error} />}
        {prepared === null ? <p className="npu-quiet npu-picture-none">{t('picture.none')}</p> : <Steps prepared={prepared} />}
        <p className="npu-secondary npu-picture-hint">{t('picture.dropHint')}</p>
      </Card>
    </div>
  )
}

function carriesPicture(event: DragEvent): boolean {
  return [...event.dataTransfer.items].some((item) => item.kind === 'file' && item.type.startsWith('image/'))
}

function Steps({ prepared }: { readonly prepared: PreparedPicture }) {
  const { t } = useTranslation('test-tab')
  const { original, sizes, seen, tensor } = prepared
  const { mean, std, order } = PADDLE_RECOGNITION
  const steps = [
    t('picture.step.decode'), t('picture.step.resize', { width: sizes.width, height: sizes.height, scale: formatDecimal(sizes.scale, 3) }),
    t('picture.step.normalise', { mean, std }), t('picture.step.order', { order }),
    ...(sizes.tensorWidth > sizes.width ? [t('picture.step.pad', { width: sizes.tensorWidth })] : []),
  ]
  return (
    <div className="npu-column">
      <figure className="npu-picture">
        <PictureCanvas picture={original} label={t('picture.original')} />
        <figcaption className="npu-secondary">{t('picture.originalSize', { width: original.width, height: original.height })}</figcaption>
      </figure>
      <div className="npu-row npu-picture-steps" role="list" aria-label={t('picture.preparation')}>
        {steps.map((step, index) => <Fragment key={step}>{index > 0 && <ChevronRightIcon aria-hidden="true" />}<span className="npu-badge" role="listitem">{step}</span></Fragment>)}
      </div>
      <figure className="npu-picture">
        <PictureCanvas picture={seen} label={t('picture.seen')} />
        <figcaption className="npu-secondary">{t('picture.seenAs')} <span className="npu-mono">{tensor.name} FP32 {formatShape(tensor.shape)}</span></figcaption>
      </figure>
    </div>
  )
}

function PictureCanvas({ picture, label }: { readonly picture: Picture; readonly label: string }) {
  const ref = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    const canvas = ref.current
    const context = canvas?.getContext('2d')
    if (!canvas || !context) return
    canvas.width = picture.width
    canvas.height = picture.height
    context.putImageData(new ImageData(new Uint8ClampedArray(picture.data), picture.width, picture.height), 0, 0)
  }, [picture])
  return <canvas ref={ref} role="img" aria-label={label} className="npu-picture-canvas" style={{ aspectRatio: `${picture.width} / ${picture.height}`, maxWidth: `min(100%, ${Math.max(picture.width, (picture.width * 96) / picture.height)}px)` }} />
}
