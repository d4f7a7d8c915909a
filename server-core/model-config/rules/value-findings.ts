/** A value of the wrong kind: what the field takes, and the value meant where one can be told. */
import type { ConfigFix } from '../../contract/config-language.ts'
import { removal } from '../config-edit.ts'
import { fieldSpan } from '../config-path.ts'
import type { EnumSchema, FieldSchema } from '../config-schema.ts'
import { renderString } from '../config-style.ts'
import { INTEGER_RANGES, stringLiteralValue } from '../pbtxt-literals.ts'
import type { PbtxtError, PbtxtTree } from '../pbtxt-tree.ts'
import { didYouMean } from './did-you-mean.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { Finding } from './rule.ts'
import { loggedText } from './syntax-analysis.ts'
import type { FieldPlace } from './syntax-analysis.ts'

/** Other ways in which people write a type: ONNX, NumPy, PyTorch, C. */
const TYPE_WORDS: Readonly<Record<string, string>> = {
  float: 'TYPE_FP32', float32: 'TYPE_FP32', double: 'TYPE_FP64', float64: 'TYPE_FP64', half: 'TYPE_FP16', float16: 'TYPE_FP16', bfloat16: 'TYPE_BF16',
  string: 'TYPE_STRING', bytes: 'TYPE_STRING', str: 'TYPE_STRING', boolean: 'TYPE_BOOL', bool: 'TYPE_BOOL', int: 'TYPE_INT32', long: 'TYPE_INT64',
}
/** NPU machines have cards, not a kind of instance of their own. */
const KIND_WORDS: Readonly<Record<string, string>> = { npu: 'KIND_CPU', ascend: 'KIND_CPU', cuda: 'KIND_GPU', any: 'KIND_AUTO' }
const TRUE_WORDS = new Set(['true', 'yes', 'on', 'y', '1'])
const FALSE_WORDS = new Set(['false', 'no', 'off', 'n', '0'])

interface Written {
  readonly text: string
  readonly start: number
  readonly end: number
  /** Content of a string literal. */
  readonly unquoted: string | null
}

/** The literal, word or bracketed part that stands at `offset`. */
function writtenAt(tree: PbtxtTree, offset: number): Written {
  const { text } = tree
  const first = text.charAt(offset)
  if (first === '"' || first === '\'') {
    const literal = /^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/.exec(text.slice(offset, offset + 10_000))?.[0] ?? first
    return { text: literal, start: offset, end: offset + literal.length, unquoted: stringLiteralValue(literal) }
  }
  if (first === '[' || first === '{' || first === '<') {
    const closer = { '[': ']', '{': '}', '<': '>' }[first]
    const end = text.indexOf(closer, offset)
    const part = end < 0 ? first : text.slice(offset, end + 1)
    return { text: part, start: offset, end: offset + part.length, unquoted: null }
  }
  const word = /^[^\s,;{}[\]#"'<>]+/.exec(text.slice(offset, offset + 10_000))?.[0] ?? ''
  return { text: word, start: offset, end: offset + word.length, unquoted: null }
}

function replaceWith(written: Written, text: string): ConfigFix {
  return preferredFix(`Write ${text}`, `写成 ${text}`, [{ offset: written.start, length: written.end - written.start, text }])
}

function finding(code: string, error: PbtxtError, written: Pick<Written, 'start' | 'end'>, message: Finding['message'], fixes: readonly ConfigFix[]): Finding {
  return { code, severity: 'error', span: { start: written.start, end: Math.max(written.end, written.start) }, serverText: loggedText(error), message, fixes }
}

/** @param place of the field whose value is wrong */
export function wrongValue(tree: PbtxtTree, error: PbtxtError, place: FieldPlace): Finding {
  const { field } = place
  const { schema } = field
  const written = writtenAt(tree, error.offset)
  const span = fieldSpan(field)
  const isMissing = written.text === '' || error.offset >= span.end && field.values.every((value) => value.end === value.start)
  if (schema === null || isMissing) {
    const name = field.nameTokens[0]
    const at = name === undefined ? span : { start: name.offset, end: name.offset + name.text.length }
    return finding('missing-value', error, at, say(`${field.name} has no value.`, `${field.name} 没有值。`),
      [otherFix('Remove the field', '删除该字段', [removal(tree.text, field.start, field.end)])])
  }
  if (written.text.startsWith('[') && !schema.isRepeated) return listNotAllowed(error, schema, written)
  if (schema.type.kind === 'message') return messageWanted(error, schema, written)
  if (schema.type.kind === 'enum') return enumWanted(error, schema, schema.type.enum, written)
  switch (schema.type.scalar) {
    case 'string': return stringWanted(error, schema, written)
    case 'bool': return boolWanted(error, schema, written)
    case 'float':
    case 'double': return numberWanted(error, schema, written, false)
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64': return numberWanted(error, schema, written, true)
  }
}

function listNotAllowed(error: PbtxtError, schema: FieldSchema, written: Written): Finding {
  const inner = written.text.replace(/^\[\s*|\s*\]$/g, '')
  const one = inner !== '' && !inner.includes(',')
  const only = schema.type.kind === 'message' && schema.type.message.fields.length === 1 ? schema.type.message.fields[0] : undefined
  const fixes = only?.isRepeated === true ? [replaceWith(written, `{ ${only.name}: ${written.text} }`)] : one && schema.type.kind !== 'message' ? [replaceWith(written, inner)] : []
  return finding('list-not-allowed', error, written, say(`${schema.name} takes one value, not a list.`, `${schema.name} 只接受单个值，不接受列表。`), fixes)
}

function messageWanted(error: PbtxtError, schema: FieldSchema, written: Written): Finding {
  const fields = schema.type.kind === 'message' ? schema.type.message.fields : []
  const only = fields.length === 1 ? fields[0] : undefined
  const fits = only?.type.kind === 'scalar' && (only.type.scalar === 'string') === (written.unquoted !== null)
  const value = only?.type.kind === 'scalar' && only.type.scalar === 'string' && written.unquoted === null ? renderString(written.text, '"') : written.text
  const isSwitch = /^(?:true|enabled?|on)$/i.test(written.text)
  const fixes = only !== undefined && (fits || written.unquoted === null && only.type.kind === 'scalar' && only.type.scalar === 'string')
    ? [replaceWith(written, `{ ${only.name}: ${value} }`)]
    : isSwitch ? [replaceWith(written, '{ }')] : []
  return finding('expected-message', error, written, say(
    `${schema.name} takes a block in braces${only === undefined ? '' : `: { ${only.name}: ... }`}.`,
    `${schema.name} 需要花括号块${only === undefined ? '' : `：{ ${only.name}: ... }`}。`), fixes)
}

function enumWanted(error: PbtxtError, schema: FieldSchema, enumeration: EnumSchema, written: Written): Finding {
  const names = Object.keys(enumeration.values)
  const word = written.unquoted ?? written.text
  const meant = enumMeant(enumeration, names, word)
  const isQuoted = written.unquoted !== null
  const isCase = !isQuoted && meant !== undefined && meant.toLowerCase() === word.toLowerCase()
  const list = names.length > 6 ? `${names.slice(0, 6).join(', ')}, ...` : names.join(', ')
  const code = isQuoted ? 'quoted-enum' : isCase ? 'wrong-case' : 'unknown-enum-value'
  const message = isQuoted ? say(`${schema.name} takes a name without quotes.`, `${schema.name} 的取值不加引号。`)
    : isCase ? say(`Names of values are case-sensitive: ${meant}.`, `取值区分大小写：${meant}。`)
      : say(`${schema.name} has no value "${word}".${meant === undefined ? ` It takes ${list}.` : ` Did you mean ${meant}?`}`,
        `${schema.name} 没有取值“${word}”。${meant === undefined ? `可取 ${list}。` : `是否想写 ${meant}？`}`)
  return finding(code, error, written, message, meant === undefined ? [] : [replaceWith(written, meant)])
}

function enumMeant(enumeration: EnumSchema, names: readonly string[], word: string): string | undefined {
  const upper = word.toUpperCase()
  const exact = names.find((name) => name === upper)
  if (exact !== undefined) return exact
  const suffix = names.find((name) => name.endsWith(`_${upper}`))
  const known = enumeration.fullName === 'inference.DataType' ? TYPE_WORDS[word.toLowerCase().replace(/^type_/, '')]
    : enumeration.fullName === 'inference.ModelInstanceGroup.Kind' ? KIND_WORDS[word.toLowerCase().replace(/^kind_/, '')] : undefined
  return suffix ?? known ?? didYouMean(word, names)
}

function stringWanted(error: PbtxtError, schema: FieldSchema, written: Written): Finding {
  return finding('unquoted-string', error, written, say(`${schema.name} takes a string: put it in quotes.`, `${schema.name} 需要字符串：请加引号。`),
    /^[{<[]/.test(written.text) ? [] : [replaceWith(written, renderString(written.text, '"'))])
}

function boolWanted(error: PbtxtError, schema: FieldSchema, written: Written): Finding {
  const word = (written.unquoted ?? written.text).toLowerCase()
  const meant = TRUE_WORDS.has(word) ? 'true' : FALSE_WORDS.has(word) ? 'false' : undefined
  const isCase = written.unquoted === null && (word === 'true' || word === 'false')
  const code = written.unquoted !== null ? 'quoted-boolean' : isCase ? 'wrong-case' : 'invalid-boolean'
  return finding(code, error, written, say(`${schema.name} takes true or false.`, `${schema.name} 只能取 true 或 false。`), meant === undefined ? [] : [replaceWith(written, meant)])
}

function numberWanted(error: PbtxtError, schema: FieldSchema, written: Written, isInteger: boolean): Finding {
  const inner = (written.unquoted ?? written.text).trim()
  const kind = isInteger ? { en: 'a whole number', zh: '整数' } : { en: 'a number', zh: '数字' }
  const isNumber = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/.test(inner)
  const asInteger = isNumber && Number.isSafeInteger(Number(inner)) ? String(Number(inner)) : undefined
  if (written.unquoted !== null) {
    const meant = isInteger ? asInteger : isNumber ? inner : undefined
    return finding('quoted-number', error, written, say(`${schema.name} takes ${kind.en} without quotes.`, `${schema.name} 需要不加引号的${kind.zh}。`),
      meant === undefined ? [] : [replaceWith(written, meant)])
  }
  if (inner.startsWith('-') && schema.type.kind === 'scalar' && schema.type.scalar.startsWith('u')) {
    return finding('number-out-of-range', error, written, say(`${schema.name} cannot be negative.`, `${schema.name} 不能为负数。`), [])
  }
  const hex = /^0[xX][0-9a-fA-F]+$/.test(inner) ? String(Number.parseInt(inner, 16)) : undefined
  const meant = isInteger ? asInteger : hex
  return finding('wrong-type', error, written, say(`${schema.name} takes ${kind.en}; "${written.text}" is none.`, `${schema.name} 需要${kind.zh}，“${written.text}”不是。`),
    meant === undefined ? [] : [replaceWith(written, meant)])
}

export function outOfRange(tree: PbtxtTree, error: PbtxtError, place: FieldPlace): Finding {
  const { schema } = place.field
  const written = writtenAt(tree, error.offset)
  if (schema?.type.kind === 'scalar' && schema.type.scalar === 'bool') return boolWanted(error, schema, written)
  const range = schema?.type.kind === 'scalar' ? INTEGER_RANGES[schema.type.scalar] : INTEGER_RANGES['int32']
  const [low, high] = range ?? [0n, 0n]
  const limit = tree.text.slice(0, error.offset).trimEnd().endsWith('-') ? -low : high
  return finding('number-out-of-range', error, written, say(
    `${written.text} is too large for ${place.field.name}: ${low} to ${high}.`, `${written.text} 超出 ${place.field.name} 的范围：${low} 到 ${high}。`),
  [otherFix(`Write ${limit}`, `写成 ${limit}`, [{ offset: written.start, length: written.end - written.start, text: String(limit) }])])
}
