/**
 * The lossless syntax tree of a config.pbtxt. Tokens, trivia included, concatenate to the exact text; nodes point into the text by
 * offsets, so an edit is a text change of exactly the bytes it is about, and everything else stays as it was written.
 */
import type { FieldSchema, MessageSchema } from './config-schema.ts'

/** 'space', 'comment', 'bom' and 'stray' are trivia; 'stray' (control characters, no-break spaces) always comes with an error. */
export type PbtxtTokenKind = 'identifier' | 'integer' | 'float' | 'string' | 'symbol' | 'end' | 'space' | 'comment' | 'bom' | 'stray'

export interface PbtxtToken {
  readonly kind: PbtxtTokenKind
  readonly text: string
  /** Of the first character, in UTF-16 units. */
  readonly offset: number
  /** Position in `PbtxtTree.tokens`. */
  readonly index: number
  /** 1-based, as protobuf counts: columns are UTF-8 bytes, a tab moves to the next multiple of 8. */
  readonly line: number
  readonly column: number
  /** A tokenizer error lies in this token. */
  readonly isBroken: boolean
  /** For a symbol pasted in its full-width form: the ASCII one it stands for. */
  readonly meant: string | undefined
}

export type PbtxtErrorCode =
  | 'invalid-character' | 'bad-string' | 'bad-number' | 'expected-token' | 'expected-identifier' | 'expected-value' | 'out-of-range'
  | 'unknown-field' | 'unknown-extension' | 'unknown-enum-value' | 'invalid-boolean' | 'duplicate-field' | 'oneof-conflict' | 'too-deep'

/**
 * One error. `line` and `column` are what protobuf reports (for an unknown or repeated field that is the token after the name);
 * `offset` and `length` cover what is wrong, for an editor.
 */
export interface PbtxtError {
  readonly code: PbtxtErrorCode
  readonly message: string
  readonly line: number
  readonly column: number
  readonly offset: number
  readonly length: number
}

/** Half-open range of text; trivia around a node is not part of it. */
export interface PbtxtSpan {
  readonly start: number
  readonly end: number
}

/** 64-bit values beyond 2^53 are bigint. Enums: the name, or the number where the schema has no such value. */
export type PbtxtScalarValue = string | number | bigint | boolean

export interface PbtxtScalar extends PbtxtSpan {
  readonly kind: 'scalar'
  /** Sign and literal; several for adjacent string literals. Empty where the value is missing. */
  readonly tokens: readonly PbtxtToken[]
  /** null: not readable, an error says why. */
  readonly value: PbtxtScalarValue | null
}

export interface PbtxtMessage extends PbtxtSpan {
  readonly kind: 'message'
  /** null inside an unknown field. */
  readonly schema: MessageSchema | null
  /** null: the file itself. */
  readonly open: PbtxtToken | null
  /** null: the file itself, or never closed. */
  readonly close: PbtxtToken | null
  readonly fields: readonly PbtxtField[]
  /** Tokens that are part of no field. */
  readonly skipped: readonly PbtxtToken[]
}

export type PbtxtValue = PbtxtScalar | PbtxtMessage

export interface PbtxtList {
  readonly open: PbtxtToken
  /** null: never closed. */
  readonly close: PbtxtToken | null
  readonly commas: readonly PbtxtToken[]
}

export interface PbtxtField extends PbtxtSpan {
  readonly name: string
  readonly nameTokens: readonly PbtxtToken[]
  /** null: not in the schema. */
  readonly schema: FieldSchema | null
  readonly colon: PbtxtToken | null
  /** Present for `name: [a, b]`; `values` are its elements. */
  readonly list: PbtxtList | null
  readonly values: readonly PbtxtValue[]
  /** The optional `,` or `;` after the field; inside `start`..`end`. */
  readonly separator: PbtxtToken | null
}

export interface PbtxtTree {
  readonly text: string
  /** All tokens in order, trivia and the empty 'end' token included. */
  readonly tokens: readonly PbtxtToken[]
  readonly root: PbtxtMessage
}

/** All fields of a message with this name, in order. */
export function fieldsNamed(message: PbtxtMessage, name: string): readonly PbtxtField[] {
  return message.fields.filter((field) => field.name === name)
}

export function isTrivia(token: PbtxtToken): boolean {
  return token.kind === 'space' || token.kind === 'comment' || token.kind === 'bom' || token.kind === 'stray'
}
