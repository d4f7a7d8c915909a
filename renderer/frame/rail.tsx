/** The left rail: one entry a page; Models carries a dot while a model has failed. */
import { useTranslation } from 'react-i18next'
import { useConsole } from '../console-store.ts'
import { modelState } from '../lib/model-state.ts'
import { routeHash } from '../router.ts'
import { pages } from '../routes.tsx'
import type { PageEntry } from '../routes.tsx'

export function Rail({ current }: { readonly current: string }) {
  const { t } = useTranslation()
  const entry = (page: PageEntry) => <RailEntry key={page.id} page={page} isCurrent={page.id === current} position={pages.indexOf(page) + 1} />
  return (
    <nav className="npu-rail" aria-label={t('frame.pages')} data-region="rail">
      <div className="npu-rail-mark" aria-hidden>
        <svg width="28" height="28" viewBox="0 0 28 28">
          <rect x="2" y="2" width="24" height="24" rx="6" className="npu-mark-ground" />
          <path d="M8 19V9l6 7V9M18 9v10M22 12v4" className="npu-mark-line" />
        </svg>
      </div>
      {pages.filter((page) => page.isAtEnd !== true).map(entry)}
      <span className="npu-grow" />
      {pages.filter((page) => page.isAtEnd === true).map(entry)}
    </nav>
  )
}

function RailEntry({ page, isCurrent, position }: { readonly page: PageEntry; readonly isCurrent: boolean; readonly position: number }) {
  const { t } = useTranslation()
  const failed = useConsole((state) => (page.id === 'models' ? (state.models ?? []).filter((model) => modelState(model) === 'failed').length : 0))
  const Icon = page.icon
  const name = t(`page.${page.id}`)
  return (
    <a className="npu-rail-entry" href={routeHash(page.id)} aria-current={isCurrent ? 'page' : undefined} title={`${name} (Ctrl+${position})`}>
      <Icon />
      <span className="npu-rail-name">{name}</span>
      {failed > 0 && <><span className="npu-rail-dot" aria-hidden /><span className="npu-visually-hidden">{t('frame.failedModels', { count: failed })}</span></>}
    </a>
  )
}
