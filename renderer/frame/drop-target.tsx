/** The whole window takes dropped model files; while one hovers, a sheet says so. */
import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { ImportLargeIcon } from '../components/icons.tsx'
import { droppedFiles } from '../features/models/import-drop.ts'
import { importFiles } from '../features/models/import-store.ts'

function carriesFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') === true
}

export function DropTarget({ children }: { readonly children: ReactNode }) {
  const { t } = useTranslation()
  const [isHovering, setHovering] = useState(false)
  useEffect(() => {
    const over = (event: DragEvent) => {
      // A part of the page that takes files itself (an image for the Test tab) has already said so.
      if (event.defaultPrevented || !carriesFiles(event)) return
      event.preventDefault()
      if (event.dataTransfer) event.dataTransfer.dropEffect = 'copy'
      setHovering(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setHovering(false)
    }
    const drop = (event: DragEvent) => {
      setHovering(false)
      if (event.defaultPrevented || !carriesFiles(event)) return
      event.preventDefault()
      if (event.dataTransfer) void droppedFiles(event.dataTransfer).then(importFiles)
    }
    window.addEventListener('dragover', over)
    window.addEventListener('dragleave', leave)
    window.addEventListener('drop', drop)
    return () => {
      window.removeEventListener('dragover', over)
      window.removeEventListener('dragleave', leave)
      window.removeEventListener('drop', drop)
    }
  }, [])
  return (
    <>
      {children}
      {isHovering && <div className="npu-drop-sheet" aria-hidden><div><ImportLargeIcon /><b>{t('frame.dropHere')}</b></div></div>}
    </>
  )
}
