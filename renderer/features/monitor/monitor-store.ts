/** What the Monitor page is set to and shows. The feed fills `view`; the page changes the rest through the actions. */
import { create } from 'zustand'
import type { MonitorView, WindowSeconds } from './monitor-view.ts'

export interface MonitorState {
  readonly windowSeconds: WindowSeconds
  /** '' = all models. */
  readonly model: string
  /** The end of the window stands still here; null: it moves. Samples are kept meanwhile. */
  readonly pausedAt: number | null
  readonly showsTable: boolean
  /** Time of the point under the cursor; null: none, headers show now. */
  readonly cursor: number | null
  /** null until the first samples came. */
  readonly view: MonitorView | null
}

export const useMonitor = create<MonitorState>()(() => ({ windowSeconds: 300, model: '', pausedAt: null, showsTable: false, cursor: null, view: null }))
