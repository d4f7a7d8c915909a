/** Picks a folder on the server's machine, for windows without a dialog of their own (browser mode). */
import { Button, Dialog, DialogActions, DialogBody, DialogContent, DialogSurface, DialogTitle, Input } from '@fluentui/react-components'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { DirectoryListing } from '../../server-core/contract/console-api.ts'
import { ConsoleError, command } from '../console-client.ts'
import { ErrorNotice } from '../components/error-notice.tsx'
import { FolderIcon, ModelsIcon } from '../components/icons.tsx'
import { ReturnFocus } from '../components/return-focus.tsx'
import { openRepository, stopBrowsing } from './repository-actions.ts'

export function FolderBrowser() {
  const { t } = useTranslation()
  // A new object with every request, so that the same folder can be asked for again.
  const [asked, setAsked] = useState({ path: '' })
  const [typed, setTyped] = useState('')
  const [listing, setListing] = useState<DirectoryListing | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isWaiting, setWaiting] = useState(true)
  const list = useRef<HTMLUListElement>(null)
  const go = (path: string) => {
    setWaiting(true)
    setAsked({ path })
  }
  useEffect(() => {
    let isCurrent = true
    command('repository.browse', { path: asked.path }).then(
      (answer) => {
        if (!isCurrent) return
        setListing(answer)
        setTyped(answer.path)
        setError(null)
        setWaiting(false)
      },
      (reason: unknown) => {
        if (!isCurrent) return
        setError(reason)
        setWaiting(false)
      },
    )
    return () => { isCurrent = false }
  }, [asked])
  useEffect(() => {
    // The folder that was entered is gone from the list, and the focus with it.
    if (listing !== null && document.activeElement === document.body) list.current?.querySelector('button')?.focus()
  }, [listing])
  const path = typed.trim()
  const nextStep = error instanceof ConsoleError && error.isDisconnect ? {} : { nextStep: t('repository.browseFailedNext') }
  return (
    <Dialog open onOpenChange={() => stopBrowsing()}>
      <DialogSurface className="npu-dialog npu-folder-browser"><ReturnFocus /><DialogBody>
        <DialogTitle>{t('repository.browseTitle')}</DialogTitle>
        <DialogContent>
          <form className="npu-row" onSubmit={(event) => { event.preventDefault(); go(typed) }}>
            <Input className="npu-grow npu-mono" value={typed} onChange={(_event, { value }) => setTyped(value)} aria-label={t('repository.path')} spellCheck={false} />
            <Button type="submit">{t('repository.goTo')}</Button>
          </form>
          <div className="npu-folder-list">
            {error !== null && <ErrorNotice sentence={t('repository.browseFailed')} error={error} {...nextStep} />}
            <ul className="npu-folders" ref={list} aria-label={t('repository.folders')} aria-busy={isWaiting}>
              {listing !== null && listing.parent !== null && <li><button type="button" onClick={() => go(listing.parent ?? '')}><FolderIcon />..<span className="npu-visually-hidden">{t('repository.parent')}</span></button></li>}
              {listing?.directories.map((directory) => (
                <li key={directory.path}>
                  <button type="button" onClick={() => go(directory.path)}>
                    {directory.looksLikeRepository ? <span className="npu-folder-repository"><ModelsIcon /></span> : <FolderIcon />}
                    <span className="npu-cut">{directory.name}</span>
                    {directory.looksLikeRepository && <span className="npu-badge">{t('repository.looksLikeOne')}</span>}
                  </button>
                </li>
              ))}
              {listing !== null && listing.directories.length === 0 && <li className="npu-quiet npu-folders-none">{t('repository.noFolders')}</li>}
            </ul>
          </div>
        </DialogContent>
        <DialogActions>
          <Button appearance="primary" disabled={path === ''} onClick={() => void openRepository(path)}>{t('repository.openThis')}</Button>
          <Button onClick={stopBrowsing}>{t('cancel')}</Button>
        </DialogActions>
      </DialogBody></DialogSurface>
    </Dialog>
  )
}
