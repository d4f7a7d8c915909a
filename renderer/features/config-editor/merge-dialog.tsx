/** The file changed on disk while it was edited: theirs, the result and mine side by side; a person chooses where both changed a line. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { chunkText, mergedText, mergeTexts } from '../../lib/three-way-merge.ts'
import type { ConflictChoice, MergeChunk } from '../../lib/three-way-merge.ts'
import { useConfigDocument } from './config-document.ts'
import { openDialog } from './editor-view-store.ts'
import { dismissOutcome, takeMerge } from './save-store.ts'
import type { SaveState } from './save-store.ts'

const CHOICES = ['theirs', 'mine', 'theirsThenMine'] as const satisfies readonly ConflictChoice[]

export function MergeDialog({ conflict }: { readonly conflict: Extract<SaveState, { kind: 'conflict' }> }) {
  const { t } = useTranslation('config-editor')
  const mine = useConfigDocument((state) => state.text)
  const { base, theirs, wantsLoad } = conflict
  const chunks = useMemo(() => mergeTexts(base, theirs.text ?? '', mine), [base, theirs.text, mine])
  const [choices, setChoices] = useState<Readonly<Record<number, ConflictChoice>>>({})
  const conflicts = chunks.flatMap((chunk, index) => (chunk.kind === 'conflict' ? [index] : []))
  const open = conflicts.filter((index) => choices[index] === undefined).length
  const isRemoved = theirs.text === null
  const take = (text: string) => {
    takeMerge(theirs, text)
    openDialog(wantsLoad ? 'saveAndLoad' : 'save')
  }
  return (
    <Dialog open onOpenChange={(_, data) => { if (!data.open) dismissOutcome() }}>
      <DialogSurface className="npu-dialog npu-editor-dialog" data-testid="config-merge">
        <ReturnFocus />
        <DialogBody className="npu-editor-dialog-body">
          <DialogTitle>{t('merge.title')}</DialogTitle>
          <DialogContent className="npu-editor-dialog-content">
            <p>{isRemoved ? t('merge.removed') : conflicts.length === 0 ? t('merge.clean') : t('merge.conflicts', { count: conflicts.length })}</p>
            {!isRemoved && <div className="npu-config-merge" tabIndex={0} role="group" aria-label={t('merge.title')}>
              <div className="npu-config-merge-row npu-config-merge-heads"><b>{t('merge.theirs')}</b><b>{t('merge.result')}</b><b>{t('merge.mine')}</b></div>
              {chunks.map((chunk, index) => (
                <div key={index} className={`npu-config-merge-row npu-config-merge-${chunk.kind}`}>
                  <pre>{plain(chunk, 'theirs')}</pre>
                  <div>
                    {chunk.kind === 'conflict' && <Segmented<ConflictChoice | ''> label={t('merge.choose', { count: conflicts.indexOf(index) + 1 })} value={choices[index] ?? ''} onChange={(value) => { if (value !== '') setChoices({ ...choices, [index]: value }) }} options={CHOICES.map((value) => ({ value, label: t(`merge.take.${value}`) }))} />}
                    <pre>{chunk.kind === 'conflict' && choices[index] === undefined ? '' : chunkText(chunk, choices[index])}</pre>
                  </div>
                  <pre>{plain(chunk, 'mine')}</pre>
                </div>
              ))}
            </div>}
          </DialogContent>
          <DialogActions>
            {!isRemoved && open > 0 && <span className="npu-secondary npu-config-merge-open">{t('merge.open', { count: open })}</span>}
            <Button onClick={dismissOutcome}>{t('common:cancel')}</Button>
            {isRemoved
              ? (
                <>
                  <Button onClick={() => takeMerge(theirs, '')} data-testid="config-merge-theirs">{t('merge.leaveRemoved')}</Button>
                  <Button appearance="primary" onClick={() => take(mine)} data-testid="config-merge-use">{t('merge.writeAgain')}</Button>
                </>
              )
              : (
                <>
                  <Button onClick={() => take(theirs.text ?? '')} data-testid="config-merge-theirs">{t('merge.useTheirs')}</Button>
                  <Button appearance="primary" disabledFocusable={open > 0} data-testid="config-merge-use" onClick={() => { if (open === 0) take(mergedText(chunks, choices)) }}>{t('merge.use')}</Button>
                </>
              )}
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  )
}

function plain(chunk: MergeChunk, side: 'theirs' | 'mine'): string {
  return chunk[side]
}
