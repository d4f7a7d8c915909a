/** The top bar: which repository, is the engine up, how busy the cards are, language, theme. */
import { Button, Menu, MenuItemRadio, MenuList, MenuPopover, MenuTrigger, Tooltip } from '@fluentui/react-components'
import { useTranslation } from 'react-i18next'
import { LanguageIcon, ThemeIcon } from '../components/icons.tsx'
import { chooseLanguage, chooseTheme, LANGUAGES, THEME_CHOICES, usePreferences } from '../preferences.ts'
import { EngineState } from './engine-state.tsx'
import { NpuMeter } from './npu-meter.tsx'
import { RepositorySwitcher } from './repository-switcher.tsx'

export function TopBar() {
  const { t } = useTranslation()
  return (
    <header className="npu-top" data-region="top" aria-label={t('frame.topBar')}>
      <RepositorySwitcher />
      <EngineState />
      <span className="npu-grow" />
      <NpuMeter />
      <div className="npu-row npu-top-switches"><LanguageSwitch /><ThemeSwitch /></div>
    </header>
  )
}

function LanguageSwitch() {
  const { t } = useTranslation()
  const language = usePreferences((state) => state.language)
  return (
    <Menu checkedValues={{ language: [language] }} onCheckedValueChange={(_event, { checkedItems }) => {
      const chosen = LANGUAGES.find((entry) => entry === checkedItems[0])
      if (chosen) chooseLanguage(chosen)
    }}>
      <MenuTrigger disableButtonEnhancement>
        <Tooltip content={t('frame.language')} relationship="description">
          <Button appearance="subtle" icon={<LanguageIcon />} aria-label={`${t('frame.languageShort')} · ${t('frame.language')}`} data-testid="language-switch">{t('frame.languageShort')}</Button>
        </Tooltip>
      </MenuTrigger>
      <MenuPopover><MenuList>
        {LANGUAGES.map((entry) => <MenuItemRadio key={entry} name="language" value={entry} lang={entry} data-testid={`language-${entry}`}>{t(`languageName.${entry}`)}</MenuItemRadio>)}
      </MenuList></MenuPopover>
    </Menu>
  )
}

function ThemeSwitch() {
  const { t } = useTranslation()
  const choice = usePreferences((state) => state.themeChoice)
  return (
    <Menu checkedValues={{ theme: [choice] }} onCheckedValueChange={(_event, { checkedItems }) => {
      const chosen = THEME_CHOICES.find((entry) => entry === checkedItems[0])
      if (chosen) chooseTheme(chosen)
    }}>
      <MenuTrigger disableButtonEnhancement>
        <Tooltip content={t('frame.theme')} relationship="label">
          <Button appearance="subtle" icon={<ThemeIcon />} className="npu-icon-button" data-testid="theme-switch" />
        </Tooltip>
      </MenuTrigger>
      <MenuPopover><MenuList>
        {THEME_CHOICES.map((entry) => <MenuItemRadio key={entry} name="theme" value={entry} data-testid={`theme-${entry}`}>{t(`themeName.${entry}`)}</MenuItemRadio>)}
      </MenuList></MenuPopover>
    </Menu>
  )
}
