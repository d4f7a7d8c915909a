/** What opening a repository may need to show: the folder browser, the wait, the failure. */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { ErrorNotice } from '../components/error-notice.tsx'
import { ReturnFocus } from '../components/return-focus.tsx'
import { StatePill } from '../components/state-pill.tsx'
import { FolderBrowser } from './folder-browser.tsx'
import { chooseRepository, dismissTask, folderName, openRepository, openSampleRepository, useRepository } from './repository-actions.ts'

export function RepositoryDialogs() {
  const { t } = useTranslation()
  const isBrowsing = useRepository((state) => state.isBrowsing)
  const task = useRepository((state) => state.task)
  const sentence = task === null ? '' : task.kind === 'sample' ? t('repository.sampleFailed') : t('repository.openFailed', { name: folderName(task.path) })
  return (
    <>
      {isBrowsing && <FolderBrowser />}
      {task !== null && task.error === null && (
        <div className="npu-busy" role="status"><StatePill kind="loading" text={task.kind === 'sample' ? t('repository.openingSample') : t('repository.opening', { name: folderName(task.path) })} /></div>
      )}
      <Dialog open={task !== null && task.error !== null} onOpenChange={() => dismissTask()}>
        <DialogSurface className="npu-dialog"><ReturnFocus /><DialogBody>
          <DialogTitle>{t('repository.notOpened')}</DialogTitle>
          <DialogContent>{task !== null && <ErrorNotice sentence={sentence} error={task.error} nextStep={t('repository.stillServing')} />}</DialogContent>
          <DialogActions>
            <Button appearance="primary" onClick={() => {
              if (task?.kind === 'sample') void openSampleRepository()
              else if (task) void openRepository(task.path)
            }}>{t('retry')}</Button>
            <Button onClick={() => { dismissTask(); chooseRepository() }}>{t('repository.chooseOther')}</Button>
            <Button onClick={dismissTask}>{t('close')}</Button>
          </DialogActions>
        </DialogBody></DialogSurface>
      </Dialog>
    </>
  )
}
