/** What can be done with the tensor under the pointer (or the cursor, by the menu key); elsewhere the host's own menu opens. */
import { Menu, MenuItem, MenuList, MenuPopover } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { documentLines, offsetOf } from './language-service.ts'
import type { monaco } from '../../components/code-editor/monaco-setup.ts'
import { tensorActionsAt } from './tensor-navigation.ts'
import type { TensorPlaceActions } from './tensor-navigation.ts'

interface OpenMenu {
  readonly actions: TensorPlaceActions
  /** In the window. */
  readonly x: number
  readonly y: number
}

export function TensorMenu({ editor }: { readonly editor: monaco.editor.IStandaloneCodeEditor }) {
  const { t } = useTranslation('config-editor')
  const [open, setOpen] = useState<OpenMenu | null>(null)
  useEffect(() => {
    const listener = editor.onContextMenu(({ event, target }) => {
      const position = target.position ?? editor.getPosition()
      const actions = position === null ? null : tensorActionsAt(offsetOf(documentLines(), position))
      if (position === null || actions === null) return
      event.preventDefault()
      if (editor.getSelection()?.containsPosition(position) !== true) editor.setPosition(position)
      const box = editor.getDomNode()?.getBoundingClientRect()
      const at = editor.getScrolledVisiblePosition(position)
      if (box !== undefined && at !== null) setOpen({ actions, x: box.left + at.left, y: box.top + at.top + at.height })
    })
    return () => listener.dispose()
  }, [editor])
  if (open === null) return null
  const { actions: { end, link, isMemberKnown, canRename }, x, y } = open
  const run = (id: string) => () => {
    editor.focus()
    void editor.getAction(id)?.run()
  }
  const close = (): void => {
    setOpen(null)
    editor.focus()
  }
  return (
    <Menu open onOpenChange={(_event, data) => { if (!data.open) close() }} positioning={{ target: { getBoundingClientRect: () => new DOMRect(x, y, 0, 0) }, position: 'below', align: 'start' }}>
      <MenuPopover data-testid="tensor-menu"><MenuList>
        {end !== null && <MenuItem secondaryContent="F12" onClick={run('editor.action.revealDefinition')}>{t(end.isProducer ? 'tensor.toConsumers' : 'tensor.toProducer')}</MenuItem>}
        {end !== null && <MenuItem secondaryContent="Shift+F12" onClick={run('editor.action.goToReferences')}>{t('tensor.allPlaces')}</MenuItem>}
        {link !== null && <MenuItem secondaryContent="F12" disabled={!isMemberKnown} onClick={run('editor.action.revealDefinition')}>{t(isMemberKnown ? 'tensor.openMember' : 'tensor.noMember', { model: link.modelName })}</MenuItem>}
        {canRename && <MenuItem secondaryContent="F2" onClick={run('editor.action.rename')}>{t('tensor.rename')}</MenuItem>}
      </MenuList></MenuPopover>
    </Menu>
  )
}
