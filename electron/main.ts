/** Entry of the desktop application: what has to happen before Electron is ready, then the desktop. */
import { app, protocol } from 'electron'
import { APP_SCHEME_PRIVILEGES } from './app-protocol.ts'
import { Desktop } from './desktop.ts'
import { setupUserDataDirectory } from './user-data.ts'

setupUserDataDirectory()
protocol.registerSchemesAsPrivileged([APP_SCHEME_PRIVILEGES])
if (app.requestSingleInstanceLock()) void app.whenReady().then(async () => { (await Desktop.create()).start() })
else app.quit()
