/** Where the application keeps what it writes. */
import { app } from 'electron'

/** `--user-data-dir=DIR` moves everything; it has to be known before the single-instance lock is asked for, which lies there. */
export function setupUserDataDirectory(): void {
  const directory = app.commandLine.getSwitchValue('user-data-dir')
  if (directory !== '') app.setPath('userData', directory)
}
