/** The last saves of the model's config: each against the text as it is now, and back into the editor. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigHistoryEntry } from '../../../server-core/contract/console-api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import { formatBytes, formatClock, formatDate } from '../../lib/format.ts'
import { setText, useConfigDocument } from './config-document.ts'
import { DiffView } from '../../components/code-editor/diff-view.tsx'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { openDialog } from './editor-view-store.ts'

export function HistoryDialog({ modelName }: { readonly modelName: string }) {
  const { t } = useTranslation('config-editor')
  const text = useConfigDocument((state) => state.text)
  const [entries, setEntries] = useState<readonly ConfigHistoryEntry[] | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const [old, setOld] = useState<{ readonly id: string; readonly text: string } | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    let isCurrent = true
    command('config.history', { name: modelName }).then((list) => {
      if (!isCurrent) return
      setEntries(list)
      setChosen(list[0]?.id ?? null)
    }, (reason: unknown) => { if (isCurrent) setError(reason) })
    return () => { isCurrent = false }
  }, [modelName])
  useEffect(() => {
    if (chosen === null) return
    let isCurrent = true
    command('config.historyText', { name: modelName, id: chosen }).then((answer) => { if (isCurrent) setOld({ id: chosen, text: answer.text }) }, (reason: unknown) => { if (isCurrent) setError(reason) })
    return () => { isCurrent = false }
  }, [modelName, chosen])
  const entry = entries?.find(({ id }) => id === chosen)
  const shown = old !== null && old.id === chosen ? old.text : null
  return (
    <Dialog open onOpenChange={(_, data) => { if (!data.open) openDialog(null) }}>
      <DialogSurface className="npu-dialog npu-editor-dialog" data-testid="config-history-dialog">
        <ReturnFocus />
        <DialogBody className="npu-editor-dialog-body">
          <DialogTitle>{t('history.title', { model: modelName })}</DialogTitle>
          <DialogContent className="npu-editor-dialog-content npu-config-history">
            {error !== null && <ErrorNotice sentence={t('history.failed')} error={error} />}
            {entries?.length === 0 && <p className="npu-quiet">{t('history.none')}</p>}
            {entries !== null && entries.length > 0 && (
              <>
                <ul className="npu-config-history-list" aria-label={t('history.list')}>
                  {entries.map(({ id, time, byteSize, origin }) => (
                    <li key={id}>
                      <button type="button" aria-pressed={id === chosen} className={id === chosen ? 'npu-config-history-entry npu-config-history-chosen' : 'npu-config-history-entry'} onClick={() => setChosen(id)}>
                        <span>{formatDate(time)} {formatClock(time)}</span><span className="npu-quiet">{formatBytes(byteSize)} · {t(`history.${origin}`)}</span>
                      </button>
                    </li>
                  ))}
                </ul>
                {shown !== null && entry && (shown === text ? <p className="npu-quiet">{t('history.same')}</p>
                  : <DiffView before={shown} after={text} beforeLabel={`${formatDate(entry.time)} ${formatClock(entry.time)}`} afterLabel={t('save.edited')} />)}
              </>
            )}
          </DialogContent>
          <DialogActions>
            <Button onClick={() => openDialog(null)}>{t('common:close')}</Button>
            {shown !== null && shown !== text && <Button appearance="primary" data-testid="config-history-restore" onClick={() => { setText(shown, 'restore'); openDialog(null) }}>{t('history.restore')}</Button>}
          </DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  )
}
