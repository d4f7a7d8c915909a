/** The user's settings on disk: one JSON file, read field by field, written atomically. */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DesktopSettings, ServerRestart } from '../server-core/contract/console-api.ts'
import { NPU_FALLBACKS, NPU_SOURCES } from '../server-core/contract/devices.ts'
import type { Ports } from './server-messages.ts'
import { readWindowState } from './window-state.ts'
import type { WindowState } from './window-state.ts'

export interface StoredSettings extends DesktopSettings {
  /** Ports asked for; 0 picks a free one. */
  readonly ports: Ports
  /** Absolute paths, last opened first. */
  readonly recentRepositories: readonly string[]
  readonly window: WindowState | null
  /** What was chosen in the window for the engine; the command line overrules it. */
  readonly engine: ServerRestart
}

export const DEFAULT_SETTINGS: StoredSettings = {
  language: 'system',
  theme: 'system',
  keepServingOnClose: null,
  ports: { http: 8000, grpc: 8001, metrics: 8002, console: 8600 },
  recentRepositories: [],
  window: null,
  engine: {},
}

const LANGUAGES: readonly DesktopSettings['language'][] = ['zh-CN', 'en', 'system']
const THEMES: readonly DesktopSettings['theme'][] = ['light', 'dark', 'contrast', 'system']

export class SettingsStore {
  readonly #path: string
  #settings: StoredSettings

  /** @param warn told once when the file there cannot be used; it is kept beside the new one as `<name>.unreadable`. */
  constructor(path: string, warn: (message: string) => void) {
    this.#path = path
    this.#settings = readSettingsFile(path, warn)
  }

  get(): StoredSettings { return this.#settings }

  change(change: Partial<StoredSettings>): StoredSettings {
    this.#settings = { ...this.#settings, ...change }
    writeFileAtomically(this.#path, `${JSON.stringify(this.#settings, null, 2)}\n`)
    return this.#settings
  }
}

/** Only what a page may see and change. */
export function desktopSettings(settings: StoredSettings): DesktopSettings {
  const { language, theme, keepServingOnClose } = settings
  return { language, theme, keepServingOnClose }
}

/**
 * A change as a page asks for it.
 * @throws Error that names the field that is unknown or has a value it cannot have
 */
export function readSettingsChange(change: unknown): Partial<DesktopSettings> {
  const fields = asRecord(change)
  if (fields === null) throw new Error('A change of settings is an object of fields.')
  for (const [name, value] of Object.entries(fields)) {
    const isKnown = name === 'language' ? isOneOf(value, LANGUAGES)
      : name === 'theme' ? isOneOf(value, THEMES)
        : name === 'keepServingOnClose' && (value === null || typeof value === 'boolean')
    if (!isKnown) throw new Error(`The setting '${name}' cannot be ${JSON.stringify(value)}.`)
  }
  return fields as Partial<DesktopSettings>
}

function readSettingsFile(path: string, warn: (message: string) => void): StoredSettings {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') warn(`The settings in ${path} cannot be read, defaults are used: ${String(error)}`)
    return DEFAULT_SETTINGS
  }
  try {
    const fields = asRecord(JSON.parse(text))
    if (fields === null) throw new Error('it is not an object')
    return readStoredSettings(fields)
  } catch (error) {
    const kept = `${path}.unreadable`
    renameSync(path, kept)
    warn(`The settings in ${path} cannot be understood, defaults are used and the file is kept as ${kept}: ${String(error)}`)
    return DEFAULT_SETTINGS
  }
}

/** Fields that are missing or have a value they cannot have get their default. */
function readStoredSettings(fields: Readonly<Record<string, unknown>>): StoredSettings {
  const ports = asRecord(fields['ports']) ?? {}
  const port = (name: keyof Ports) => (isPort(ports[name]) ? ports[name] : DEFAULT_SETTINGS.ports[name])
  const recent = fields['recentRepositories']
  return {
    language: isOneOf(fields['language'], LANGUAGES) ? fields['language'] : DEFAULT_SETTINGS.language,
    theme: isOneOf(fields['theme'], THEMES) ? fields['theme'] : DEFAULT_SETTINGS.theme,
    keepServingOnClose: typeof fields['keepServingOnClose'] === 'boolean' ? fields['keepServingOnClose'] : null,
    ports: { http: port('http'), grpc: port('grpc'), metrics: port('metrics'), console: port('console') },
    recentRepositories: Array.isArray(recent) ? recent.filter((entry) => typeof entry === 'string') : [],
    window: readWindowState(fields['window']),
    engine: readEngine(asRecord(fields['engine']) ?? {}),
  }
}

function readEngine({ npuSource, npuFallback, simulatedCards, simulatedTimeScale, cannSetEnv }: Readonly<Record<string, unknown>>): ServerRestart {
  return {
    ...(isOneOf(npuSource, NPU_SOURCES) ? { npuSource } : {}),
    ...(isOneOf(npuFallback, NPU_FALLBACKS) ? { npuFallback } : {}),
    ...(Array.isArray(simulatedCards) && simulatedCards.length > 0 ? { simulatedCards: simulatedCards.filter((card) => typeof card === 'string') } : {}),
    ...(typeof simulatedTimeScale === 'number' && simulatedTimeScale >= 0 ? { simulatedTimeScale } : {}),
    ...(typeof cannSetEnv === 'string' && cannSetEnv !== '' ? { cannSetEnv } : {}),
  }
}

function writeFileAtomically(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.tmp`
  const file = openSync(temporary, 'w', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : null
}

function isOneOf<T>(value: unknown, allowed: readonly T[]): value is T {
  return (allowed as readonly unknown[]).includes(value)
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65535
}
