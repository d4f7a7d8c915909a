/** Which repository is served, and the way to another one. */
import { Button, Menu, MenuDivider, MenuGroup, MenuGroupHeader, MenuItem, MenuList, MenuPopover, MenuTrigger } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { ChevronDownIcon, FolderIcon, TestIcon } from '../components/icons.tsx'
import { useConsole } from '../console-store.ts'
import { chooseRepository, folderName, openRepository, openSampleRepository, refreshRecent, useRepository } from './repository-actions.ts'

export function RepositorySwitcher() {
  const { t } = useTranslation()
  const status = useConsole((state) => state.status)
  const count = useConsole((state) => state.models?.length ?? null)
  const recent = useRepository((state) => state.recent)
  const paths = status?.repositoryPaths ?? []
  const path = paths[0]
  const canOpen = status?.controlMode === 'explicit'
  const name = path === undefined ? t('repository.none') : folderName(path) + (paths.length > 1 ? ` +${paths.length - 1}` : '')
  return (
    <Menu onOpenChange={(_event, { open }) => void (open && refreshRecent())}>
      <MenuTrigger disableButtonEnhancement>
        <Button appearance="subtle" icon={<FolderIcon />} className="npu-repository" title={paths.join('\n')} data-testid="repository-switcher">
          <b className="npu-cut">{name}</b>
          {count !== null && path !== undefined && <span className="npu-quiet npu-small-text">{t('repository.models', { count })}</span>}
          <ChevronDownIcon />
        </Button>
      </MenuTrigger>
      <MenuPopover className="npu-repository-menu"><MenuList>
        <MenuItem icon={<FolderIcon />} disabled={!canOpen} onClick={chooseRepository} secondaryContent="Ctrl+Shift+O">{t('repository.open')}</MenuItem>
        <MenuItem icon={<TestIcon />} disabled={!canOpen} onClick={() => void openSampleRepository()}>{t('repository.sample')}</MenuItem>
        {!canOpen && status !== null && <p className="npu-menu-reason npu-secondary">{t('repository.onlyExplicit', { mode: t(`controlMode.${status.controlMode}`) })}</p>}
        {recent.length > 0 && <><MenuDivider /><MenuGroup>
          <MenuGroupHeader>{t('repository.recent')}</MenuGroupHeader>
          {recent.map((entry) => <MenuItem key={entry} disabled={!canOpen || paths.includes(entry)} onClick={() => void openRepository(entry)} title={entry}><span className="npu-mono npu-cut-start">{entry}</span></MenuItem>)}
        </MenuGroup></>}
      </MenuList></MenuPopover>
    </Menu>
  )
}
