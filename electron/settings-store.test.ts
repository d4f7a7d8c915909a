import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_SETTINGS, desktopSettings, readSettingsChange, SettingsStore } from './settings-store.ts'

let directory: string
let path: string
let warnings: string[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'settings-'))
  path = join(directory, 'deep', 'settings.json')
  warnings = []
})

afterEach(() => { rmSync(directory, { recursive: true, force: true }) })

function open(): SettingsStore {
  return new SettingsStore(path, (message) => { warnings.push(message) })
}

describe('settings store', () => {
  it('has defaults where there is no file, without a warning', () => {
    expect(open().get()).toEqual(DEFAULT_SETTINGS)
    expect(warnings).toEqual([])
  })

  it('keeps a change for the next start and leaves no temporary file', () => {
    open().change({ theme: 'dark', recentRepositories: ['/models'], window: { bounds: { x: 1, y: 2, width: 1000, height: 700 }, isMaximized: true } })
    const { theme, language, recentRepositories, window } = open().get()
    expect({ theme, language, recentRepositories, window }).toEqual({
      theme: 'dark', language: 'system', recentRepositories: ['/models'], window: { bounds: { x: 1, y: 2, width: 1000, height: 700 }, isMaximized: true },
    })
    expect(readdirSync(join(directory, 'deep'))).toEqual(['settings.json'])
  })

  it('keeps what the engine is to be started with', () => {
    const engine = { npuSource: 'simulated', npuFallback: 'allow', simulatedCards: ['910B3'], simulatedTimeScale: 0, cannSetEnv: 'auto' } as const
    open().change({ engine })
    expect(open().get().engine).toEqual(engine)
  })

  it('takes the default of a field that cannot be, and keeps the others', () => {
    open().change({ theme: 'light' })
    const fields = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    writeFileSync(path, JSON.stringify({ ...fields, language: 'fr', keepServingOnClose: 'yes', ports: { http: 99999, grpc: 9001 }, window: { bounds: {} }, engine: { npuSource: 'imagined', simulatedCards: ['310P3', 7], simulatedTimeScale: -1, cannSetEnv: '' } }))
    expect(open().get()).toEqual({ ...DEFAULT_SETTINGS, theme: 'light', ports: { ...DEFAULT_SETTINGS.ports, grpc: 9001 }, engine: { simulatedCards: ['310P3'] } })
  })

  it('keeps a file that it cannot understand, says so, and goes on with defaults', () => {
    open().change({ theme: 'light' })
    writeFileSync(path, '{ broken')
    expect(open().get()).toEqual(DEFAULT_SETTINGS)
    expect(warnings[0]).toContain(`kept as ${path}.unreadable`)
    expect(readFileSync(`${path}.unreadable`, 'utf8')).toBe('{ broken')
  })
})

describe('settings that a page sees', () => {
  it('are no more than the contract says', () => {
    expect(desktopSettings(DEFAULT_SETTINGS)).toEqual({ language: 'system', theme: 'system', keepServingOnClose: null })
  })

  it('change only in known fields with possible values', () => {
    expect(readSettingsChange({ language: 'en', keepServingOnClose: null })).toEqual({ language: 'en', keepServingOnClose: null })
    expect(() => readSettingsChange({ ports: { http: 1 } })).toThrow("The setting 'ports' cannot be")
    expect(() => readSettingsChange({ theme: 'pink' })).toThrow(`The setting 'theme' cannot be "pink".`)
    expect(() => readSettingsChange(['language'])).toThrow('is an object of fields')
    expect(() => readSettingsChange(null)).toThrow('is an object of fields')
  })
})
