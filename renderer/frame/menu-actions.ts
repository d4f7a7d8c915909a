/** What the desktop's menu, its recent list and a second start ask the page to do. In a browser nobody asks. */
import { desktopApi } from '../lib/desktop-api.ts'
import { navigate } from '../router.ts'
import { openRepository } from './repository-actions.ts'

/** Call once at start-up. */
export function followMenuActions(): void {
  desktopApi()?.onMenuAction((action) => {
    if (action.kind === 'navigate') navigate(action.page)
    else void openRepository(action.path)
  })
}
