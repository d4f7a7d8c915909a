/** Settings: language, theme, where cards come from, what closing the window does (desktop), the keys, and what runs here. */
import { Radio, RadioGroup } from '@fluentui/react-components'
import { useEffect, useId, useState } from 'react'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { DesktopSettings } from '../../../server-core/contract/console-api.ts'
import { Card } from '../../components/card.tsx'
import { KeyboardHint } from '../../components/keyboard-hint.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { useConsole } from '../../console-store.ts'
import { desktopApi } from '../../lib/desktop-api.ts'
import { formatBytes, UNKNOWN } from '../../lib/format.ts'
import { chooseLanguage, chooseTheme, LANGUAGES, THEME_CHOICES, usePreferences } from '../../preferences.ts'
import type { LanguageChoice } from '../../preferences.ts'
import { pages } from '../../routes.tsx'
import { NpuSettings } from './npu-settings.tsx'
import { TrustSettings } from './trust-settings.tsx'
import './settings.css'

const LANGUAGE_CHOICES: readonly LanguageChoice[] = ['system', ...LANGUAGES]

export default function SettingsPage() {
  const { t } = useTranslation('settings')
  return (
    <div className="npu-page">
      <PageHeader title={t('title')} note={t('note')} />
      <div className="npu-settings">
        <Appearance />
        <NpuSettings />
        <TrustSettings />
        {desktopApi() !== undefined && <Closing />}
        <Keyboard />
        <About />
      </div>
    </div>
  )
}

function Row({ label, hint, children }: { readonly label: string; readonly hint: string; readonly children: (labelId: string) => ReactNode }) {
  const id = useId()
  return <div className="npu-setting"><span id={id}>{label}</span><div>{children(id)}<p className="npu-secondary npu-setting-hint">{hint}</p></div></div>
}

function Appearance() {
  const { t } = useTranslation('settings')
  const { languageChoice, themeChoice } = usePreferences()
  return (
    <Card title={t('appearance')}>
      <Row label={t('language')} hint={t('languageHint')}>{(labelId) => (
        <RadioGroup layout="horizontal" aria-labelledby={labelId} value={languageChoice} onChange={(_event, { value }) => { const choice = LANGUAGE_CHOICES.find((entry) => entry === value); if (choice) chooseLanguage(choice) }}>
          {LANGUAGE_CHOICES.map((entry) => <Radio key={entry} value={entry} label={t(`common:languageName.${entry}`)} />)}
        </RadioGroup>
      )}</Row>
      <Row label={t('theme')} hint={t('themeHint')}>{(labelId) => (
        <RadioGroup layout="horizontal" aria-labelledby={labelId} value={themeChoice} onChange={(_event, { value }) => { const choice = THEME_CHOICES.find((entry) => entry === value); if (choice) chooseTheme(choice) }}>
          {THEME_CHOICES.map((entry) => <Radio key={entry} value={entry} label={t(`common:themeName.${entry}`)} />)}
        </RadioGroup>
      )}</Row>
    </Card>
  )
}

type Keeping = 'ask' | 'keep' | 'stop'
const KEEPING: readonly Keeping[] = ['ask', 'keep', 'stop']
const keepingOf = ({ keepServingOnClose }: DesktopSettings): Keeping => (keepServingOnClose === null ? 'ask' : keepServingOnClose ? 'keep' : 'stop')

function Closing() {
  const { t } = useTranslation('settings')
  const [settings, setSettings] = useState<DesktopSettings | null>(null)
  useEffect(() => {
    void desktopApi()?.settings().then(setSettings)
  }, [])
  const change = (keeping: string) => void desktopApi()?.changeSettings({ keepServingOnClose: keeping === 'ask' ? null : keeping === 'keep' }).then(setSettings)
  return (
    <Card title={t('closing')}>
      <Row label={t('closing')} hint={t('closingHint')}>{(labelId) => (
        <RadioGroup layout="horizontal" aria-labelledby={labelId} value={settings === null ? '' : keepingOf(settings)} onChange={(_event, { value }) => change(value)}>
          {KEEPING.map((entry) => <Radio key={entry} value={entry} label={t(`keepServing.${entry}`)} />)}
        </RadioGroup>
      )}</Row>
    </Card>
  )
}

function Keyboard() {
  const { t } = useTranslation('settings')
  const keys = [['pages', `Ctrl+1 … ${pages.length}`], ['regions', 'F6'], ['filter', '/'], ['table', '↑ ↓ ← → Space Enter'], ['problem', 'F8'], ['import', 'Ctrl+O'], ['open', 'Ctrl+Shift+O'], ['run', 'Ctrl+Enter']] as const
  return <Card title={t('keyboard')}><dl className="npu-setting-facts">{keys.map(([key, shown]) => <div key={key}><dt><KeyboardHint keys={shown} /></dt><dd>{t(`keys.${key}`)}</dd></div>)}</dl></Card>
}

function About() {
  const { t } = useTranslation('settings')
  const status = useConsole((state) => state.status)
  const facts = [
    ['version', status?.version ?? UNKNOWN], ['runtime', status?.onnxRuntimeVersion ?? UNKNOWN], ['node', status?.nodeVersion ?? UNKNOWN], ['platform', status?.platform ?? UNKNOWN],
    ['machine', status === null ? UNKNOWN : `${t('cores', { count: status.cpuCount })} · ${formatBytes(status.totalMemoryBytes)}`],
  ] as const
  return <Card title={t('about')}><dl className="npu-setting-facts">{facts.map(([key, value]) => <div key={key}><dt className="npu-quiet">{t(key)}</dt><dd>{value}</dd></div>)}</dl></Card>
}
