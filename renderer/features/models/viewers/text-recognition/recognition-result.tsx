/** What was read: the text, how sure the model is, and each character with its own confidence. */
import { useTranslation } from 'react-i18next'
import { CopyButton } from '../../../../components/copy-button.tsx'
import type { DecodedText } from '../../../../../server-core/tensors/ctc-decode.ts'
import { formatDecimal, UNKNOWN } from '../../../../lib/format.ts'

/** Below this a character is marked: it is worth a second look. */
const DOUBTFUL = 0.8

interface RecognitionResultProps {
  readonly text: DecodedText & { readonly steps: number }
  /** Another picture was chosen since. */
  readonly isStale: boolean
}

export function RecognitionResult({ text, isStale }: RecognitionResultProps) {
  const { t } = useTranslation('test-tab')
  const percent = (share: number | null) => (share === null ? UNKNOWN : `${formatDecimal(share * 100, 1)} %`)
  const lowest = text.characters.length === 0 ? null : Math.min(...text.characters.map((entry) => entry.confidence))
  return (
    <div className="npu-column">
      {isStale && <p className="npu-secondary">{t('recognition.stale')}</p>}
      <div className="npu-row npu-recognised">
        <output className="npu-recognised-text" data-testid="recognised-text" aria-label={t('recognition.text')}>{text.text === '' ? t('recognition.nothing') : text.text}</output>
        <span className="npu-grow" />
        <CopyButton text={text.text} label={t('recognition.copy')} />
      </div>
      <dl className="npu-tensor-figures">
        <div><dt>{t('recognition.mean')}</dt><dd data-testid="mean-confidence">{percent(text.meanConfidence)}</dd></div>
        <div><dt>{t('recognition.lowest')}</dt><dd>{percent(lowest)}</dd></div>
        <div><dt>{t('recognition.characters')}</dt><dd>{text.characters.length}</dd></div>
        <div><dt>{t('recognition.steps')}</dt><dd>{text.steps}</dd></div>
      </dl>
      {text.characters.length > 0 && (
        <div className="npu-characters" tabIndex={0} role="region" aria-label={t('recognition.perCharacter')}>
          <table className="npu-table">
            <thead><tr><th scope="col" className="npu-right">#</th><th scope="col">{t('recognition.character')}</th><th scope="col">{t('recognition.confidence')}</th><th scope="col" className="npu-right">{t('recognition.step')}</th></tr></thead>
            <tbody>{text.characters.map((entry, index) => (
              <tr key={entry.step}>
                <td className="npu-right npu-quiet">{index + 1}</td>
                <td className="npu-character">{entry.character === ' ' ? <span className="npu-quiet">{t('recognition.space')}</span> : <b>{entry.character}</b>}</td>
                <td><span className="npu-row"><span className="npu-confidence" aria-hidden="true"><i style={{ width: `${Math.max(0, Math.min(1, entry.confidence)) * 100}%`, background: entry.confidence < DOUBTFUL ? 'var(--npuDegraded)' : 'var(--c1)' }} /></span>{percent(entry.confidence)}
                  {entry.confidence < DOUBTFUL ? <span className="npu-doubt">{t('recognition.doubtful')}</span> : entry.confidence === lowest && <span className="npu-quiet">{t('recognition.isLowest')}</span>}</span></td>
                <td className="npu-right npu-quiet">{entry.step + 1}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </div>
  )
}
