import { describe, expect, it } from 'vitest'
import { JsonDocument } from './json-document.ts'

const PREFIX = 'failed to parse the request JSON buffer: '

function parse(text: string): JsonDocument {
  return new JsonDocument(Buffer.from(text))
}

/** A plain value, to compare with; doubles as numbers, integers as bigint. */
function valueOf(document: JsonDocument, at: number): unknown {
  switch (document.kind(at)) {
    case 'string': return document.text(at)
    case 'boolean': return document.asBoolean(at)
    case 'integer': return document.integer(at)
    case 'double': return document.number(at)
    case 'null': return null
    case 'array': {
      const items: unknown[] = []
      for (let item = document.first(at); item >= 0; item = document.next(item)) items.push(valueOf(document, item))
      return items
    }
    case 'object': {
      const members: [string, unknown][] = []
      for (let name = document.first(at); name >= 0;) {
        const value = document.memberValue(name)
        members.push([document.text(name), valueOf(document, value)])
        name = document.next(value)
      }
      return Object.fromEntries(members)
    }
  }
}

describe('JsonDocument syntax errors', () => {
  const cases: readonly (readonly [text: string, reason: string, offset: number])[] = [
    ['', 'The document is empty.', 0],
    ['  \n', 'The document is empty.', 3],
    ['x', 'Invalid value.', 0],
    ['{"a":tru}', 'Invalid value.', 8],
    ['[1,]', 'Invalid value.', 3],
    ['[-]', 'Invalid value.', 2],
    ['nan', 'Invalid value.', 1],
    ['{"inputs":[', 'Invalid value.', 11],
    ['{a:1}', 'Missing a name for object member.', 1],
    ['{"a":1,}', 'Missing a name for object member.', 7],
    ['{"a" 1}', 'Missing a colon after a name of object member.', 5],
    ['{"a":1 "b":2}', 'Missing a comma or } after an object member.', 7],
    ['{"a":1', 'Missing a comma or } after an object member.', 6],
    ['[1 2]', 'Missing a comma or ] after an array element.', 3],
    ['[01]', 'Missing a comma or ] after an array element.', 2],
    ['"abc', 'Missing a closing quotation mark in string.', 4],
    ['["\\x"]', 'Invalid escape character in string.', 2],
    ['["\\u12g4"]', 'Incorrect hex digit after \\u escape in string.', 2],
    ['["\\ud800"]', 'The surrogate pair in string is invalid.', 2],
    ['["a\nb"]', 'Invalid encoding in string.', 3],
    ['{} {}', 'The document root must not be followed by other values.', 3],
    ['[1.]', 'Missing fraction part in number.', 3],
    ['[1e]', 'Missing exponent in number.', 3],
    ['[1, 1e999]', 'Number too big to be stored in double.', 4],
    [`[${'9'.repeat(400)}]`, 'Number too big to be stored in double.', 1],
    ['}', 'Invalid value.', 0],
    ['[1}', 'Missing a comma or ] after an array element.', 2],
  ]
  it.each(cases)('%j: %s at %i', (text, reason, offset) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ kind: 'INTERNAL', message: `${PREFIX}${reason} at ${offset}` }))
  })
})

describe('JsonDocument values', () => {
  const cases: readonly (readonly [text: string, value: unknown])[] = [
    ['{"a":[1,-2,{"b":null}],"c":true,"d":"x"}', { a: [1n, -2n, { b: null }], c: true, d: 'x' }],
    [' [ ] ', []],
    ['{ }', {}],
    ['[18446744073709551615,-9223372036854775808]', [18446744073709551615n, -9223372036854775808n]],
    ['[18446744073709551616]', [18446744073709551616]],
    ['[1.0,1e2,-0.5,1E-2]', [1, 100, -0.5, 0.01]],
    ['[NaN,Infinity,-Infinity,Inf,-Inf]', [NaN, Infinity, -Infinity, Infinity, -Infinity]],
    ['"\\u00e9\\ud83d\\ude00\\n\\"\\\\\\/\\u0000"', 'é😀\n"\\/\u0000'],
    ['{"\\u0061":1}', { a: 1n }],
    ['[true,false,null]', [true, false, null]],
  ]
  it.each(cases)('reads %s', (text, value) => {
    const document = parse(text)
    expect(valueOf(document, document.root)).toEqual(value)
  })

  it('reads what JSON.stringify wrote, long containers included', () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({ index: `n${i}`, cells: Array.from({ length: i }, (_cell, j) => `${j}`) }))
    const document = parse(JSON.stringify({ rows, last: 'end' }))
    expect(valueOf(document, document.root)).toEqual({ rows, last: 'end' })
  })

  it('finds the first of equal names, also escaped ones', () => {
    const document = parse('{"ab":1,"a":2,"\\u0061":3,"a":4}')
    expect(document.integer(document.find(document.root, 'a'))).toBe(2n)
    const escaped = parse('{"\\u0061b":7}')
    expect(escaped.integer(escaped.find(escaped.root, 'ab'))).toBe(7n)
    expect(document.find(document.root, 'abc')).toBe(-1)
  })

  it('finds nothing in what is no object', () => {
    const document = parse('[1]')
    expect(document.find(document.root, 'a')).toBe(-1)
  })

  it('checks deep nesting without recursion', () => {
    const depth = 200_000
    expect(() => parse('['.repeat(depth) + ']'.repeat(depth))).not.toThrow()
    expect(() => parse('['.repeat(depth))).toThrow('Invalid value.')
  })

  it('keeps bytes that are not UTF-8 when a string is copied', () => {
    const document = new JsonDocument(Buffer.from([0x22, 0xff, 0xfe, 0x5c, 0x6e, 0x22]))
    const target = Buffer.alloc(8)
    const end = document.copyString(0, target, 0)
    expect([...target.subarray(0, end)]).toEqual([0xff, 0xfe, 0x0a])
  })
})

describe('JsonDocument kind errors', () => {
  it.each([
    ['1', 'asString', 'attempt to access JSON non-string as string'],
    ['1', 'asBoolean', 'attempt to access JSON non-boolean as boolean'],
    ['-1', 'asUnsigned', 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
    ['1.0', 'asUnsigned', 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
    ['"1"', 'asUnsigned', 'attempt to access JSON non-unsigned-integer as unsigned-integer'],
  ] as const)('%s read with %s', (text, read, message) => {
    const document = parse(text)
    expect(() => document[read](document.root)).toThrow(expect.objectContaining({ kind: 'INTERNAL', message }))
  })
})
