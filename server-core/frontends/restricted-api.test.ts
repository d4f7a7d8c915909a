import { describe, expect, it } from 'vitest'
import { parseRestrictedApi, restrictionsByCategory } from './restricted-api.ts'

const FLAG = '--http-restricted-api'

describe('parseRestrictedApi', () => {
  it('reads categories, header and value; the value may hold = and :', () => {
    expect(parseRestrictedApi('health,model-repository:X-Key=a=b:c', FLAG)).toEqual({ categories: ['health', 'model-repository'], header: 'X-Key', value: 'a=b:c' })
  })

  it.each(['', 'health', 'health:key', ':key=v', 'health:=v'])('refuses %j and shows the form', (text) => {
    expect(() => parseRestrictedApi(text, FLAG)).toThrow(`${FLAG}: expected '<category>[,<category>]:<header>=<value>', got '${text}'`)
  })

  it('names an unknown category and the known ones', () => {
    expect(() => parseRestrictedApi('nope:k=v', FLAG)).toThrow(/unknown category 'nope', expected one of health, metadata/)
  })
})

describe('restrictionsByCategory', () => {
  it('refuses one category in two restrictions', () => {
    const restriction = parseRestrictedApi('health:k=v', FLAG)
    expect(() => restrictionsByCategory([restriction, restriction])).toThrow("restricted api 'health' can not be specified in multiple config groups")
  })
})
