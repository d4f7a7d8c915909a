import type { MenuItemConstructorOptions } from 'electron'
import { describe, expect, it } from 'vitest'
import { menuTemplate } from './menu.ts'
import { shellLanguage, shellTexts } from './texts.ts'

const calls: unknown[] = []
const actions = {
  openRepositoryDialog: () => { calls.push('dialog') },
  openRepository: (path: string) => { calls.push(path) },
  navigate: (page: string) => { calls.push(page) },
  startServer: () => { calls.push('start') },
  openDataFolder: () => { calls.push('data') },
  openNotices: () => { calls.push('notices') },
  showAbout: () => { calls.push('about') },
}

function template(language: 'zh-CN' | 'en', change: Partial<Parameters<typeof menuTemplate>[0]> = {}) {
  return menuTemplate({ texts: shellTexts(language), recentRepositories: [], canStartServer: false, hasDeveloperTools: false, ...change }, actions)
}

function flat(items: readonly MenuItemConstructorOptions[]): MenuItemConstructorOptions[] {
  return items.flatMap((item) => [item, ...(Array.isArray(item.submenu) ? flat(item.submenu) : [])])
}

describe('menu', () => {
  it('has the same items in both languages, each with a text', () => {
    const [english, chinese] = [flat(template('en')), flat(template('zh-CN'))]
    expect(chinese.map(({ id, role, type }) => ({ id, role, type }))).toEqual(english.map(({ id, role, type }) => ({ id, role, type })))
    for (const item of [...english, ...chinese]) if (item.type !== 'separator') expect(item.label).toBeTruthy()
    expect(english.some((item) => /[\u4e00-\u9fff]/.test(item.label ?? ''))).toBe(false)
  })

  it('opens a recent repository by its path', () => {
    const item = flat(template('en', { recentRepositories: ['/a', '/b & c'] })).find((entry) => entry.id === 'recent-1')
    expect(item?.label).toBe('/b && c')
    item?.click?.(undefined as never, undefined, undefined as never)
    expect(calls).toEqual(['/b & c'])
  })

  it('offers to start the server only after it gave up, and developer tools only in development', () => {
    const find = (items: MenuItemConstructorOptions[], id: string) => flat(items).find((entry) => entry.id === id)
    expect(find(template('en'), 'start-server')?.enabled).toBe(false)
    expect(find(template('en', { canStartServer: true }), 'start-server')?.enabled).toBe(true)
    expect(flat(template('en')).some((entry) => entry.role === 'toggleDevTools')).toBe(false)
    expect(flat(template('en', { hasDeveloperTools: true })).some((entry) => entry.role === 'toggleDevTools')).toBe(true)
  })
})

describe('shell language', () => {
  it('follows the setting, else the desktop', () => {
    expect(shellLanguage('en', 'zh-CN')).toBe('en')
    expect(shellLanguage('system', 'zh-TW')).toBe('zh-CN')
    expect(shellLanguage('system', 'zh')).toBe('zh-CN')
    expect(shellLanguage('system', 'de-DE')).toBe('en')
  })
})
