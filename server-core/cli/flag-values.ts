/** What a flag is, and how the values of flags are read. */
import type { ServerOptions } from '../options.ts'
import { ServerError } from '../server-error.ts'

export type Draft = { -readonly [K in keyof ServerOptions]: ServerOptions[K] }

/** One flag of `npu-console serve`. */
export interface Flag {
  readonly names: readonly string[]
  /** What stands after the name in the usage text; '' for booleans, which may stand alone. */
  readonly value: string
  readonly help: string
  readonly set: (draft: Draft, text: string, flag: string) => void
}

/** Triton's words for a value that is no boolean. */
export function parseBoolean(text: string, flag: string): boolean {
  const value = text.toLowerCase()
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\ninvalid value for bool option: ${text}`)
}

/** A whole number from 0. */
export function parseInteger(text: string, flag: string, highest = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isInteger(value) || value < 0 || value > highest) {
    throw new ServerError('INVALID_ARG', `Bad option: "${flag}".\nexpected a whole number between 0 and ${highest}, got: ${text}`)
  }
  return value
}

/** A flag of tritonserver's that is taken, so that command lines go on to work, and changes nothing; the log says so once. */
export function withoutEffect(name: string, value: string, reason: string): Flag {
  return {
    names: [name], value, help: `No effect here: ${reason}`,
    set: (draft, text, flag) => {
      if (value === '<integer>') parseInteger(text, flag)
      draft.flagsWithoutEffect = [...draft.flagsWithoutEffect.filter((said) => !said.startsWith(`${flag} `)), `${flag} has no effect: ${reason}`]
    },
  }
}
