/** Entry of the window: what was remembered, texts, address, connection, first paint. */
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { consoleClient } from './console-client.ts'
import { followServer } from './console-store.ts'
import { followMenuActions } from './frame/menu-actions.ts'
import { startTranslations } from './i18n.ts'
import { loadPreferences, usePreferences } from './preferences.ts'
import { followAddress } from './router.ts'
import { followServerProcess } from './server-process-store.ts'
import { fontsFor, registerFallbackFont } from './theme/fonts.ts'
import './theme/global.css'
import './components/card.css'

async function start(): Promise<void> {
  const root = document.getElementById('root')
  if (root === null) throw new Error('index.html has no #root')
  registerFallbackFont()
  await loadPreferences()
  await startTranslations()
  followAddress()
  followServer(consoleClient)
  followServerProcess()
  followMenuActions()
  consoleClient.start()
  await fontsFor(usePreferences.getState().language)
  createRoot(root).render(<App />)
}

void start()
