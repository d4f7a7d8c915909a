/** Names of models that are about to be made: proposed from a file or folder, and checked before anything is written. */
import { basename } from 'node:path'
import { ServerError } from '../server-error.ts'

/** Bytes of a name that every file system takes, with room for what we append. */
const MAX_NAME_BYTES = 200

/** The part after the last separator of a path of any system. */
export function lastPathPart(path: string): string {
  return basename(path.replaceAll('\\', '/'))
}

/** At most 80 characters of a text, for messages. */
export function shorten(text: string): string {
  const characters = [...text]
  return characters.length > 80 ? `${characters.slice(0, 79).join('')}…` : text
}

/** Letters and digits of any script, `_`, `-`, `.`; what is left of `text` where nothing else is in the way. */
export function cleanModelName(text: string): string {
  const clean = truncate(text.normalize('NFC').replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, '_'), MAX_NAME_BYTES).replace(/^[._-]+|[._-]+$/g, '')
  const isReserved = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)/i.test(clean) // names Windows keeps for devices
  return clean === '' ? 'model' : isReserved ? `model_${clean}` : clean
}

/** The first of `name`, `name_2`, `name_3`... that is free among `existingNames` in any case. */
export function freeModelName(name: string, existingNames: readonly string[]): string {
  const taken = new Set(existingNames.map((existing) => existing.toLowerCase()))
  let proposal = name
  for (let suffix = 2; taken.has(proposal.toLowerCase()); suffix++) proposal = `${name}_${suffix}`
  return proposal
}

/** @param fileName a file name with its extension, or a path of any system */
export function proposeModelName(fileName: string, existingNames: readonly string[]): string {
  return freeModelName(cleanModelName(lastPathPart(fileName).replace(/\.[^.]*$/, '')), existingNames)
}

/** @throws ServerError INVALID_ARG when the name cannot be that of a folder in the repository */
export function checkModelName(name: string): void {
  const refuse = (why: string): never => {
    throw new ServerError('INVALID_ARG', `'${shorten(name)}' cannot be a model name: ${why}.`)
  }
  if (name === '') refuse('it is empty')
  if (/[/\\]/.test(name)) refuse('it contains a path separator')
  if (name.startsWith('.')) refuse('it starts with a dot')
  if (/[\p{C}]/u.test(name)) refuse('it contains a control character')
  if (name !== name.trim() || name.endsWith('.')) refuse('it starts or ends with a space or ends with a dot')
  if (byteLength(name) > MAX_NAME_BYTES + 20) refuse(`it is longer than ${MAX_NAME_BYTES + 20} bytes`)
}

function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

function truncate(name: string, bytes: number): string {
  let result = ''
  for (const character of name) {
    if (byteLength(result + character) > bytes) break
    result += character
  }
  return result
}
