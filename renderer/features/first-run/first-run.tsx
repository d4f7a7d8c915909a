/** No repository, or an empty one: three ways to the first served model. */
import { Button } from '@fluentui/react-components'
import type { ReactElement, ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { FolderLargeIcon, ImportLargeIcon, TestLargeIcon } from '../../components/icons.tsx'
import { KeyboardHint } from '../../components/keyboard-hint.tsx'
import { useConsole } from '../../console-store.ts'
import { chooseRepository, openSampleRepository, useRepository } from '../../frame/repository-actions.ts'
import { chooseLanguage, LANGUAGES, usePreferences } from '../../preferences.ts'
import { chooseModelFile } from '../models/import-store.ts'
import { TemplateMenu } from '../models/template-menu.tsx'
import './first-run.css'

export function FirstRun() {
  const { t } = useTranslation('first-run')
  const status = useConsole((state) => state.status)
  const isOpening = useRepository((state) => state.task !== null && state.task.error === null)
  const path = status?.repositoryPaths[0]
  const canOpen = status?.controlMode === 'explicit' && !isOpening
  return (
    <div className="npu-page npu-first-run" data-testid="first-run">
      <div className="npu-first-run-column">
        <div>
          <h1>{t('title')}</h1>
          <p className="npu-first-run-intro">{t('intro')}</p>
          {path !== undefined && <p className="npu-quiet">{t('emptyRepository', { path })}</p>}
          {status !== null && status.controlMode !== 'explicit' && <p className="npu-first-run-reason">{t('onlyExplicit', { mode: t(`common:controlMode.${status.controlMode}`) })}</p>}
        </div>
        <div className="npu-first-run-ways">
          <Way icon={<ImportLargeIcon />} title={t('drop.title')} text={t('drop.text')} isDropPlace>
            <Button appearance="primary" onClick={chooseModelFile} data-testid="first-run-drop">{t('drop.button')}</Button><KeyboardHint keys="Ctrl+O" /><TemplateMenu />
          </Way>
          <Way icon={<FolderLargeIcon />} title={t('open.title')} text={t('open.text')}>
            <Button onClick={chooseRepository} disabledFocusable={!canOpen} data-testid="first-run-open">{t('open.button')}</Button><KeyboardHint keys="Ctrl+Shift+O" />
          </Way>
          <Way icon={<TestLargeIcon />} title={t('sample.title')} text={t('sample.text')}>
            <Button onClick={() => void openSampleRepository()} disabledFocusable={!canOpen} data-testid="first-run-sample">{t('sample.button')}</Button><span className="npu-quiet npu-small-text">{t('sample.note')}</span>
          </Way>
        </div>
        <div className="npu-first-run-foot npu-small-text npu-quiet">
          <span>{t('foot.private')}</span>
          <SshHint />
          <LanguageChoice />
        </div>
      </div>
    </div>
  )
}

function LanguageChoice() {
  const { t } = useTranslation('first-run')
  const language = usePreferences((state) => state.language)
  return (
    <span className="npu-row" role="group" aria-label={t('foot.language')}>{t('foot.language')}
      {LANGUAGES.map((entry) => <button key={entry} type="button" lang={entry} className={entry === language ? 'npu-link npu-first-run-current' : 'npu-link'} aria-pressed={entry === language} onClick={() => chooseLanguage(entry)}>{t(`common:languageName.${entry}`)}</button>)}
    </span>
  )
}

interface WayProps { readonly icon: ReactElement; readonly title: string; readonly text: string; readonly isDropPlace?: boolean; readonly children: ReactNode }

function Way({ icon, title, text, isDropPlace = false, children }: WayProps) {
  return (
    <section className={`npu-way${isDropPlace ? ' npu-way-drop' : ''}`}>
      <span className="npu-way-icon" aria-hidden>{icon}</span>
      <h2>{title}</h2>
      <p className="npu-way-text">{text}</p>
      <span className="npu-grow" />
      <div className="npu-row npu-way-actions">{children}</div>
    </section>
  )
}

/** The command inside the sentence is code. */
function SshHint() {
  const { t } = useTranslation('first-run')
  const [before, after] = t('foot.ssh', { command: '\n' }).split('\n')
  return <span>{before}<code>npu-console serve --console</code>{after}</span>
}
