/** The secret behind the console's cookie: one per user, kept between starts so that an open window can reconnect. */
import { randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../make-directory.ts'
import { ServerError } from '../../server-error.ts'

const FILE_NAME = 'console-secret'

/** Reads the secret, or writes one that only this user can read. */
export async function readOrCreateSecret(dataDirectory: string): Promise<string> {
  const path = join(dataDirectory, FILE_NAME)
  await makeDirectory(dataDirectory, 'data directory', 0o700)
  try {
    const handle = await open(path, 'wx', 0o600)
    try {
      const secret = randomBytes(32).toString('base64url')
      await handle.writeFile(secret)
      return secret
    } finally {
      await handle.close()
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw new ServerError('UNAVAILABLE', `the console's secret cannot be written to ${path}: ${String(error)}`, { cause: error })
  }
  const secret = (await readFile(path, 'utf8')).trim()
  if (secret.length < 32) throw new ServerError('UNAVAILABLE', `the console's secret in ${path} is damaged: delete the file and start again`)
  return secret
}
