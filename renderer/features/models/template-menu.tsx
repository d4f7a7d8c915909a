/** Python models to begin with: a menu beside Import. Choosing one opens the same review as a dropped file does. */
import { Menu, MenuItem, MenuList, MenuPopover, MenuTrigger, MenuButton } from '@fluentui/react-components'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ModelTemplate } from '../../../server-core/contract/console-api.ts'
import { errorText } from '../../components/error-notice.tsx'
import { command } from '../../console-client.ts'
import { localized } from '../../lib/localized-text.ts'
import { importTemplate } from './import-store.ts'
import './template-menu.css'

export function TemplateMenu() {
  const { t } = useTranslation('import')
  const [isOpen, setOpen] = useState(false)
  return (
    <Menu open={isOpen} onOpenChange={(_event, data) => setOpen(data.open)}>
      <MenuTrigger disableButtonEnhancement><MenuButton data-testid="template-menu">{t('fromTemplate')}</MenuButton></MenuTrigger>
      <MenuPopover className="npu-template-menu"><MenuList>{isOpen && <Templates />}</MenuList></MenuPopover>
    </Menu>
  )
}

function Templates() {
  const { t } = useTranslation('import')
  const [templates, setTemplates] = useState<readonly ModelTemplate[]>([])
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    let isCurrent = true
    command('template.list').then((list) => { if (isCurrent) setTemplates(list) }, (reason: unknown) => { if (isCurrent) setError(reason) })
    return () => { isCurrent = false }
  }, [])
  if (error !== null) return <MenuItem disabled>{t('templatesFailed', { reason: errorText(error) })}</MenuItem>
  return templates.map(({ name, title, summary, modules }) => (
    <MenuItem key={name} onClick={() => void importTemplate(name)} data-testid={`template-${name}`}>
      <span className="npu-template-title">{localized(title)}</span>
      <span className="npu-template-text">{localized(summary)}</span>
      <span className="npu-template-text">{t('needs')} <span className="npu-mono">{modules.join(', ')}</span></span>
    </MenuItem>
  ))
}
