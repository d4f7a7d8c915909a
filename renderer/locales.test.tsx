import { describe, expect, it } from 'vitest'
import { resources } from './i18n.ts'

const sources = import.meta.glob<string>(['./**/*.ts', './**/*.tsx', '!./**/*.test.ts', '!./**/*.test.tsx', '!./testing/**'], { eager: true, query: '?raw', import: 'default' })
const PLURAL = /_(one|other|zero|two|few|many)$/

/** `a.b` to text, for every text of a namespace. */
function flatten(value: unknown, prefix = ''): [string, string][] {
  if (typeof value === 'string') return [[prefix, value]]
  return Object.entries(value as Record<string, unknown>).flatMap(([key, inner]) => flatten(inner, prefix === '' ? key : `${prefix}.${key}`))
}

function texts(language: 'en' | 'zh-CN'): Map<string, string> {
  return new Map(Object.entries(resources[language]).flatMap(([namespace, content]) => flatten(content).map(([key, text]): [string, string] => [`${namespace}:${key}`, text])))
}

const withoutPlural = (keys: Iterable<string>) => [...new Set([...keys].map((key) => key.replace(PLURAL, '')))].sort()
const en = texts('en')
const zh = texts('zh-CN')

interface Use { readonly file: string; readonly key: string; readonly isPrefix: boolean }

/**
 * Keys named in the sources. A literal without namespace belongs to the file's own namespaces or `common`; a template literal stands for every key
 * that starts as it does.
 */
function usedKeys(): Use[] {
  return Object.entries(sources).flatMap(([file, source]) => {
    const quoted = [...source.matchAll(/(['"`])((?:[a-z][\w-]*:)?[A-Za-z][\w.-]*?)(\$\{|\1)/g)]
    return quoted.map((match) => ({ file, key: match[2] ?? '', isPrefix: match[3] === '${' }))
  })
}

describe('texts', () => {
  it('exist in both languages under the same keys', () => {
    expect(withoutPlural(zh.keys())).toEqual(withoutPlural(en.keys()))
    expect(en.size).toBeGreaterThan(200)
  })

  it('have the plural forms their language needs, and no others', () => {
    const bases = (keys: Iterable<string>, form: string) => [...keys].filter((key) => key.endsWith(form)).map((key) => key.slice(0, -form.length)).sort()
    expect(bases(en.keys(), '_one')).toEqual(bases(en.keys(), '_other'))
    expect(bases(zh.keys(), '_one')).toEqual([])
  })

  it('name the same values in both languages', () => {
    const values = (text: string) => [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1]))].sort()
    const differing = [...zh].filter(([key, text]) => {
      const counterpart = en.get(key)
      return counterpart !== undefined && JSON.stringify(values(counterpart)) !== JSON.stringify(values(text))
    }).map(([key]) => key)
    expect(differing).toEqual([])
  })

  it('are none that no source uses', () => {
    const uses = usedKeys()
    const literal = new Set(uses.filter((use) => !use.isPrefix).map((use) => use.key.replace(/^[a-z][\w-]*:/, '')))
    const prefixes = uses.filter((use) => use.isPrefix && use.key.length > 1).map((use) => use.key.replace(/^[a-z][\w-]*:/, ''))
    // Words that i18next looks up by a value alone (`t(key)`) are named as literals where the value is made.
    const unused = withoutPlural(en.keys()).filter((full) => {
      const key = full.slice(full.indexOf(':') + 1)
      return !literal.has(key) && !prefixes.some((prefix) => prefix !== '' && key.startsWith(prefix))
    })
    expect(unused).toEqual([])
  })

  it('are all there that a source asks for by t(...)', () => {
    const missing = Object.entries(sources).flatMap(([file, source]) => {
      const own = [...source.matchAll(/useTranslation\(\s*(?:'([\w-]+)'|\[([^\]]*)\])?/g)].flatMap((match) => (match[1] !== undefined ? [match[1]] : [...(match[2] ?? '').matchAll(/'([\w-]+)'/g)].map((name) => name[1] ?? '')))
      const known = withoutPlural(en.keys())
      return [...source.matchAll(/\bt\(\s*'([^'\n]+)'/g)].map((match) => match[1] ?? '').filter((key) => {
        if (key.includes(':')) return !known.includes(key)
        // A function that is handed its `t` may be handed any namespace.
        return ![...(own.length === 0 ? Object.keys(resources.en) : own), 'common'].some((namespace) => known.includes(`${namespace}:${key}`))
      }).map((key) => `${file}: ${key}`)
    })
    expect(missing).toEqual([])
  })

  it('neither beg nor praise nor shout', () => {
    const offending = [...en, ...zh].filter(([, text]) => /\b(please|oops|successfully)\b|!|！|请(?!求)|您|(加载|卸载|保存|导入|创建|打开)成功/i.test(text)).map(([key, text]) => `${key}: ${text}`)
    expect(offending).toEqual([])
  })
})
