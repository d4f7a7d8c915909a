import { expect, it } from 'vitest'

const sources = import.meta.glob<string>(['../**/*.tsx', '!../**/*.test.tsx'], { eager: true, query: '?raw', import: 'default' })

it('stands in every dialog', () => {
  const count = (source: string, tag: string) => source.split(tag).length - 1
  const dialogs = Object.entries(sources).filter(([, source]) => source.includes('<DialogSurface'))
  expect(dialogs.length).toBeGreaterThan(2)
  expect(dialogs.filter(([, source]) => count(source, '<DialogSurface') !== count(source, '<ReturnFocus />')).map(([file]) => file)).toEqual([])
})
