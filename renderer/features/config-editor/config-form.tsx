/**
 * The config as a form: the parts that matter first, then every other field by section. It reads the one document and changes it by edits that
 * touch only what a control is about; whoever edits the text sees the form follow, and the other way round.
 */
import { Input } from '@fluentui/react-components'
import { useEffect, useRef } from 'react'
import type { FocusEvent, RefObject } from 'react'
import { useTranslation } from 'react-i18next'
import type { ConfigPath } from '../../../server-core/model-config/config-path.ts'
import { SearchIcon } from '../../components/icons.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { useConfigDocument } from './config-document.ts'
import { BatchingSection } from './form/batching-section.tsx'
import { FIRST_SECTIONS, GENERATED_SECTIONS } from './form/control-kind.ts'
import { useDocumentValue } from './form/document-value.ts'
import { changedCount, placedDiagnostics } from './form/field-state.ts'
import { useFieldText } from './form/field-text.ts'
import { select } from './form/form-actions.ts'
import { Findings } from './form/form-field.tsx'
import { useAreShown } from './form/form-filter.tsx'
import { isUnder, unknownFields } from './form/form-tree.ts'
import { setQuery, setScope, setSectionOpen, useFormView } from './form/form-view-store.ts'
import { InstancesSection } from './form/instances-section.tsx'
import { ModelSection } from './form/model-section.tsx'
import { NpuSection, useIsNpuShown } from './form/npu-section.tsx'
import { GeneratedSections, ParametersSection, UnknownSection } from './form/other-sections.tsx'
import { TensorsSection } from './form/tensors-section.tsx'
import { WarmupSection } from './form/warmup-section.tsx'
import './form/config-form.css'

export function ConfigForm() {
  const { t } = useTranslation('config-form')
  const body = useRef<HTMLDivElement>(null)
  const onFocus = (event: FocusEvent<HTMLElement>): void => {
    const holder = event.target.closest('[data-path]')
    const path = holder instanceof HTMLElement ? readPath(holder) : null
    if (path === null || holder === null) return
    mark(body.current, holder)
    select(path)
  }
  return (
    <div className="npu-form" role="form" aria-label={t('title')} data-testid="config-form">
      <FollowedSelection body={body} />
      <FormHead />
      <div className="npu-form-body" ref={body} onFocus={onFocus} tabIndex={-1}>
        <FileProblems />
        <ModelSection />
        <TensorsSection />
        <InstancesSection />
        <BatchingSection />
        <NpuSection />
        <WarmupSection />
        <GeneratedSections />
        <ParametersSection />
        <UnknownSection />
        <NothingFound />
      </div>
      <HelpLine />
    </div>
  )
}

function FormHead() {
  const { t } = useTranslation('config-form')
  const query = useFormView((state) => state.query)
  const scope = useFormView((state) => state.scope)
  const count = useDocumentValue(changedCount)
  return (
    <div className="npu-form-head">
      <Input className="npu-form-search" contentBefore={<SearchIcon />} value={query} placeholder={t('find')} aria-label={t('find')} type="search" data-own-undo data-page-filter data-testid="config-form-find" onChange={(_event, { value }) => setQuery(value)} onKeyDown={(event) => { if (event.key === 'Escape') setQuery('') }} />
      <Segmented label={t('scope')} value={scope} onChange={setScope} options={[{ value: 'all', label: t('scopeAll') }, { value: 'set', label: t('scopeSet') }, { value: 'changed', label: t('scopeChanged', { count }) }]} />
    </div>
  )
}

/** What is wrong with the file outside every field. */
function FileProblems() {
  const own = useDocumentValue(({ tree, diagnostics }) => placedDiagnostics(tree, diagnostics).filter(({ path }) => path.length === 0).map(({ diagnostic }) => diagnostic))
  return own.length === 0 ? null : <div className="npu-form-section"><div className="npu-form-section-body"><Findings diagnostics={own} /></div></div>
}

const ALL_PATHS: readonly ConfigPath[] = [...[...FIRST_SECTIONS, ...GENERATED_SECTIONS].flatMap(({ fields }): readonly string[] => fields), 'parameters'].map((name) => [name])

function NothingFound() {
  const { t } = useTranslation('config-form')
  const query = useFormView((state) => state.query)
  const scope = useFormView((state) => state.scope)
  const areShown = useAreShown(ALL_PATHS)
  const hasUnknown = useDocumentValue(({ tree }) => unknownFields(tree).length > 0)
  const isNpuShown = useIsNpuShown()
  if ((query.trim() === '' && scope === 'all') || isNpuShown || areShown.includes(true) || hasUnknown) return null
  return <p className="npu-empty">{query.trim() === '' ? t(scope === 'set' ? 'nothingSet' : 'nothingChanged') : t('nothingFound', { query: query.trim() })} <button type="button" className="npu-link" onClick={() => { setQuery(''); setScope('all') }}>{t('showAll')}</button></p>
}

/** What the field in hand means, without moving anything. */
function HelpLine() {
  const { t } = useTranslation('config-form')
  const selection = useConfigDocument((state) => state.selection)
  const text = useFieldText()
  const path = selection?.path ?? []
  const name = path.findLast((step) => typeof step === 'string')
  const help = path.length === 0 ? '' : text.help(path)
  return <div className="npu-form-help npu-secondary">{name === undefined || help === '' ? t('helpHint') : <><code>{name}</code> {help}</>}</div>
}

function readPath(holder: HTMLElement): ConfigPath | null {
  const { path } = holder.dataset
  return path === undefined ? null : JSON.parse(path) as ConfigPath
}

function mark(body: HTMLElement | null, holder: Element | null): void {
  for (const old of body?.querySelectorAll('[data-marked]') ?? []) if (old !== holder) old.removeAttribute('data-marked')
  holder?.setAttribute('data-marked', '')
}

/** A selection made elsewhere: its section opens, its field comes into view and is marked. A part of its own, so that the form is not drawn again. */
function FollowedSelection({ body }: { readonly body: RefObject<HTMLDivElement | null> }) {
  const selection = useConfigDocument((state) => state.selection)
  const opened = useFormView((state) => state.opened)
  useEffect(() => {
    if (selection === null || selection.origin === 'form' || selection.path.length === 0) return
    const [top] = selection.path
    const section = GENERATED_SECTIONS.find(({ fields }) => (fields as readonly unknown[]).includes(top))?.id ?? (top === 'parameters' ? 'parameters' : undefined)
    if (section !== undefined && useFormView.getState().opened[section] !== true && !isDrawn(body.current, selection.path)) {
      setSectionOpen(section, true)
      return
    }
    const holder = deepest(body.current, selection.path)
    mark(body.current, holder)
    holder?.scrollIntoView({ block: 'nearest' })
  }, [selection, opened, body])
  return null
}

function isDrawn(body: HTMLElement | null, path: ConfigPath): boolean {
  return deepest(body, path) !== null
}

/** The deepest part of the form that the path lies in. */
function deepest(body: HTMLElement | null, path: ConfigPath): HTMLElement | null {
  let best: HTMLElement | null = null
  let depth = 0
  for (const holder of body?.querySelectorAll<HTMLElement>('[data-path]') ?? []) {
    const own = readPath(holder)
    if (own === null || own.length <= depth || !isUnder(path, own)) continue
    best = holder
    depth = own.length
  }
  return best
}
