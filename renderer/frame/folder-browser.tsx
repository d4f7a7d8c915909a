/** Picks a folder on the server's machine, for windows without a dialog of their own (browser mode). */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle, Input } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { DirectoryListing } from '../../server-core/contract/console-api.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { FolderIcon, ModelsIcon } from '../components/icons.tsx'
import { command } from '../console-client.ts'
import { openRepository, stopBrowsing } from './repository-actions.ts'

type Listing = { readonly kind: 'waiting' } | { readonly kind: 'shown'; readonly listing: DirectoryListing } | { readonly kind: 'failed'; readonly error: unknown }

export function FolderBrowser() {
  const { t } = useTranslation()
  const [path, setPath] = useState('')
  const [typed, setTyped] = useState('')
  const [state, setState] = useState<Listing>({ kind: 'waiting' })
  useEffect(() => {
    let isCurrent = true
    command('repository.browse', { path }).then(
      (listing) => { if (isCurrent) { setState({ kind: 'shown', listing }); setTyped(listing.path) } },
      (error: unknown) => { if (isCurrent) setState({ kind: 'failed', error }) },
    )
    return () => { isCurrent = false }
  }, [path])
  const listing = state.kind === 'shown' ? state.listing : null
  return (
    <Dialog open onOpenChange={() => stopBrowsing()}>
      <DialogSurface className="npu-dialog npu-folder-browser"><DialogBody>
        <DialogTitle>{t('repository.browseTitle')}</DialogTitle>
        <DialogContent>
          <form className="npu-row" onSubmit={(event) => { event.preventDefault(); setPath(typed) }}>
            <Input className="npu-grow npu-mono" value={typed} onChange={(_event, { value }) => setTyped(value)} aria-label={t('repository.path')} spellCheck={false} />
            <Button type="submit">{t('repository.goTo')}</Button>
          </form>
          {state.kind === 'failed' && <ErrorNotice sentence={t('repository.browseFailed')} error={state.error} />}
          <ul className="npu-folders" aria-label={t('repository.folders')} aria-busy={state.kind === 'waiting'}>
            {listing !== null && listing.parent !== null && <li><button type="button" onClick={() => setPath(listing.parent ?? '')}><FolderIcon />..<span className="npu-visually-hidden">{t('repository.parent')}</span></button></li>}
            {listing?.directories.map((directory) => (
              <li key={directory.path}>
                <button type="button" onClick={() => setPath(directory.path)}>
                  {directory.looksLikeRepository ? <span className="npu-folder-repository"><ModelsIcon /></span> : <FolderIcon />}
                  <span className="npu-cut">{directory.name}</span>
                  {directory.looksLikeRepository && <span className="npu-badge">{t('repository.looksLikeOne')}</span>}
                </button>
              </li>
            ))}
            {listing !== null && listing.directories.length === 0 && <li className="npu-quiet npu-folders-none">{t('repository.noFolders')}</li>}
          </ul>
        </DialogContent>
        <DialogActions>
          <Button appearance="primary" disabled={listing === null} onClick={() => { if (listing) void openRepository(listing.path) }}>{t('repository.openThis')}</Button>
          <Button onClick={stopBrowsing}>{t('cancel')}</Button>
        </DialogActions>
      </DialogBody></DialogSurface>
    </Dialog>
  )
}
