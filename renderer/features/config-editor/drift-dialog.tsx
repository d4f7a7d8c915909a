/** One config at three places: as written, as the engine would read it, as it runs. Any two side by side. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigDrift } from '../../../server-core/contract/console-api.ts'
import { printModelConfig } from '../../../server-core/model-config/print-config.ts'
import { readModelConfig } from '../../../server-core/model-config/read-config.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ReturnFocus } from '../../components/return-focus.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { command } from '../../console-client.ts'
import { DiffView } from '../../components/code-editor/diff-view.tsx'
import { openDialog } from './editor-view-store.ts'

type Pair = 'reload' | 'filled' | 'written'

const SIDES: Readonly<Record<Pair, readonly ['onDisk' | 'running' | 'normalised', 'onDisk' | 'running' | 'normalised']>> = {
  reload: ['running', 'normalised'], filled: ['onDisk', 'normalised'], written: ['onDisk', 'running'],
}

export function DriftDialog({ modelName }: { readonly modelName: string }) {
  const { t } = useTranslation('config-editor')
  const [drift, setDrift] = useState<ConfigDrift | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [choice, setChoice] = useState<Pair | null>(null)
  useEffect(() => {
    let isCurrent = true
    command('config.drift', { name: modelName }).then((answer) => { if (isCurrent) setDrift(answer) }, (reason: unknown) => { if (isCurrent) setError(reason) })
    return () => { isCurrent = false }
  }, [modelName])
  const pair = choice ?? ((drift?.running ?? null) === null ? 'filled' : 'reload')
  const [left, right] = SIDES[pair]
  return (
    <Dialog open onOpenChange={(_, data) => { if (!data.open) openDialog(null) }}>
      <DialogSurface className="npu-dialog npu-editor-dialog" data-testid="config-drift-dialog">
        <ReturnFocus />
        <DialogBody className="npu-editor-dialog-body">
          <DialogTitle>{t('drift.title', { model: modelName })}</DialogTitle>
          <DialogContent className="npu-editor-dialog-content">
            {error !== null && <ErrorNotice sentence={t('drift.failed')} error={error} />}
            {drift !== null && (
              <>
                <div className="npu-row npu-config-drift-head">
                  <Segmented<Pair> label={t('drift.pair')} value={pair} onChange={setChoice} options={(['reload', 'filled', 'written'] as const).map((value) => ({ value, label: t(`drift.${value}`) }))} />
                  <span className="npu-quiet">{verdict(t, drift, pair)}</span>
                </div>
                {drift.normaliseError !== null && right === 'normalised' && <pre className="npu-server-text">{drift.normaliseError}</pre>}
                {drift[left] !== null && drift[right] !== null && <DiffView before={left === 'onDisk' ? canonical(drift[left]) : drift[left]} after={drift[right]} beforeLabel={t(`drift.side.${left}`)} afterLabel={t(`drift.side.${right}`)} />}
              </>
            )}
          </DialogContent>
          <DialogActions><Button onClick={() => openDialog(null)}>{t('common:close')}</Button></DialogActions>
        </DialogBody>
      </DialogSurface>
    </Dialog>
  )
}

/** The file in the order and form the engine prints, so that only what is filled in differs; as it is where it cannot be read. */
function canonical(text: string): string {
  try {
    return printModelConfig(readModelConfig(text, 'config.pbtxt'))
  } catch {
    return text
  }
}

function verdict(t: ReturnType<typeof useTranslation>['t'], drift: ConfigDrift, pair: Pair): string {
  const [left, right] = SIDES[pair]
  const missing = [left, right].find((side) => drift[side] === null)
  if (missing !== undefined) return t(`drift.missing.${missing}`)
  if (pair !== 'reload') return t(`drift.note.${pair}`)
  return t(drift.running === drift.normalised ? 'drift.note.same' : 'drift.note.differs')
}
