import { ServerError } from '../server-error.ts'

/** The model name of a load or unload call, trimmed. @throws ServerError INVALID_ARG for an empty name and one that would walk paths */
export function requestedModelName(given: string): string {
  const name = given.trim()
  if (name === '') throw new ServerError('INVALID_ARG', 'Model name cannot be empty. Please enter a valid name to deploy.')
  if (name === '..' || name === '.' || /[/\\\0]/.test(name)) {
    throw new ServerError('INVALID_ARG', `invalid model name '${given}', model name must not contain path traversal characters`)
  }
  return name
}
