/** The window's two live regions: state changes are said politely, failures at once. `announce` may be called from anywhere. */
import { create } from 'zustand'

interface Announcement { readonly text: string; readonly turn: number }
interface Announcements { readonly polite: Announcement; readonly assertive: Announcement }

const NONE: Announcement = { text: '', turn: 0 }
const useAnnouncements = create<Announcements>()(() => ({ polite: NONE, assertive: NONE }))

export function announce(text: string, urgency: 'polite' | 'assertive' = 'polite'): void {
  useAnnouncements.setState((state) => ({ [urgency]: { text, turn: state[urgency].turn + 1 } }))
}

/** Mounted once by the frame. The key makes a repeated text be said again. */
export function LiveRegions() {
  const { polite, assertive } = useAnnouncements()
  return (
    <>
      <div className="npu-visually-hidden" role="status" aria-live="polite"><span key={polite.turn}>{polite.text}</span></div>
      <div className="npu-visually-hidden" role="alert" aria-live="assertive"><span key={assertive.turn}>{assertive.text}</span></div>
    </>
  )
}
