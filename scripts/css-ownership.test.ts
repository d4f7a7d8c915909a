import { globSync, readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../renderer/', import.meta.url))

/** The classes that selectors start with: `.npu-facts > div` restyles every list of that class. */
function ownClasses(css: string): string[] {
  const selectors = [...css.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/(?:^|[{}])([^{}@]+)(?=\{)/g)].flatMap((match) => (match[1] ?? '').split(','))
  return selectors.flatMap((selector) => /^\s*\.(npu-[\w-]+)(?=[\s:>]|$)/.exec(selector)?.[1] ?? [])
}

test('no class is styled by two features: the styles of a page stay loaded after it was left', () => {
  const owners = new Map<string, Set<string>>()
  for (const file of globSync('features/**/*.css', { cwd: root })) {
    const feature = relative('features', dirname(file)).split('/')[0] ?? ''
    for (const name of ownClasses(readFileSync(`${root}${file}`, 'utf8'))) owners.set(name, new Set([...owners.get(name) ?? [], feature]))
  }
  expect(owners.size).toBeGreaterThan(50)
  expect([...owners].filter(([, features]) => features.size > 1).map(([name, features]) => `${name}: ${[...features].join(', ')}`)).toEqual([])
})
