/**
 * Every page of the window: one line makes a page, its rail entry and its shortcut (Ctrl+1 and on, in this order). `detail` is shown instead
 * of `component` while the address has more segments (`#/models/ppocr_rec/test`); it reads them from `useRoute().rest`.
 */
import { lazy } from 'react'
import type { ComponentType, LazyExoticComponent } from 'react'
import type { ModelDetail } from '../server-core/contract/console-api.ts'
import { DevicesIcon, ModelsIcon, MonitorIcon, OverviewIcon, PipelinesIcon, SettingsIcon } from './components/icons.tsx'

export interface PageEntry {
  /** First segment of the address, and key of its name: `common:page.<id>`. */
  readonly id: string
  readonly icon: ComponentType
  readonly component: LazyExoticComponent<ComponentType>
  readonly detail?: LazyExoticComponent<ComponentType>
  /** At the foot of the rail. */
  readonly isAtEnd?: boolean
}

export const pages: readonly [PageEntry, ...PageEntry[]] = [
  { id: 'overview', icon: OverviewIcon, component: lazy(() => import('./features/overview/overview-page.tsx')) },
  { id: 'models', icon: ModelsIcon, component: lazy(() => import('./features/models/models-page.tsx')), detail: lazy(() => import('./features/models/model-detail-page.tsx')) },
  { id: 'monitor', icon: MonitorIcon, component: lazy(() => import('./features/monitor/monitor-page.tsx')) },
  { id: 'devices', icon: DevicesIcon, component: lazy(() => import('./features/devices/devices-page.tsx')) },
  { id: 'pipelines', icon: PipelinesIcon, component: lazy(() => import('./features/pipelines/pipelines-page.tsx')) },
  { id: 'settings', icon: SettingsIcon, component: lazy(() => import('./features/settings/settings-page.tsx')), isAtEnd: true },
]

/** The Config tab of a model's page: a feature of its own, which no other feature may import. The words of its editor must be there before it is. */
export const ModelConfigTab: LazyExoticComponent<ComponentType<{ readonly detail: ModelDetail }>> = lazy(async () => {
  const { followLanguage } = await import('./components/code-editor/monaco-texts.ts')
  await followLanguage()
  return import('./features/config-editor/config-tab.tsx')
})

/** The Code tab of a Python model's page, in the same way. */
export const ModelCodeTab: LazyExoticComponent<ComponentType<{ readonly detail: ModelDetail }>> = lazy(async () => {
  const { followLanguage } = await import('./components/code-editor/monaco-texts.ts')
  await followLanguage()
  return import('./features/model-code/code-tab.tsx')
})

/** The page of an address; an unknown one is the overview. */
export function pageOf(id: string): PageEntry {
  return pages.find((page) => page.id === id) ?? pages[0]
}
