/** The window: theme, frame (rail, top bar, page, dock) and the page of the address. */
import { FluentProvider } from '@fluentui/react-components'
import { Suspense, useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { LiveRegions } from './components/live-region.tsx'
import { useConsole } from './console-store.ts'
import { ConnectionBanner } from './frame/connection-banner.tsx'
import { Dock } from './frame/dock.tsx'
import { DropTarget } from './frame/drop-target.tsx'
import { InstanceNotices } from './frame/instance-notices.tsx'
import { PageBoundary } from './frame/page-boundary.tsx'
import { Rail } from './frame/rail.tsx'
import { RepositoryDialogs } from './frame/repository-dialogs.tsx'
import { useModelAnnouncements } from './frame/model-announcements.ts'
import { useShortcuts } from './frame/shortcuts.ts'
import { TopBar } from './frame/top-bar.tsx'
import { ImportDialog } from './features/models/import-dialog.tsx'
import { usePreferences } from './preferences.ts'
import { useRoute } from './router.ts'
import { pageOf } from './routes.tsx'
import { themes } from './theme/theme.ts'
import './frame/frame.css'

export function App() {
  const theme = usePreferences((state) => state.theme)
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  return (
    <FluentProvider theme={themes[theme]} className="npu-app" data-theme={theme}>
      <Frame />
    </FluentProvider>
  )
}

function Frame() {
  const { page: id, rest } = useRoute()
  const page = pageOf(id)
  const Page = rest.length > 0 ? (page.detail ?? page.component) : page.component
  const { t } = useTranslation()
  const title = `${t(`page.${page.id}`)} · ${t('appName')}`
  useEffect(() => {
    document.title = title
  }, [title])
  const isStale = useConsole((state) => state.lostAt !== null)
  useShortcuts()
  useModelAnnouncements()
  return (
    <DropTarget>
      <div className="npu-frame">
        <Rail current={page.id} />
        <TopBar />
        <main className="npu-main" data-region="page" data-stale={isStale} tabIndex={-1}>
          <ConnectionBanner />
          <PageBoundary key={page.id}>
            <Suspense fallback={null}><Page /></Suspense>
          </PageBoundary>
        </main>
        <Dock />
      </div>
      <ImportDialog />
      <RepositoryDialogs />
      <InstanceNotices />
      <LiveRegions />
    </DropTarget>
  )
}
