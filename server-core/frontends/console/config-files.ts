/** What the config editor asks for: open, save, history, drift. */
import { join } from 'node:path'
import type { ConfigDrift, ConfigFile, ConfigHistoryEntry, ConfigSaveResult } from '../../contract/console-api.ts'
import type { MachineContext } from '../../contract/config-language.ts'
import type { DevicesReport } from '../../contract/devices.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { readConfigContext, thisMachine } from '../../model-config/config-context.ts'
import type { OmReader } from '../../model-config/om-passport.ts'
import { printModelConfig } from '../../model-config/print-config.ts'
import { CONFIG_FILE_NAME, readConfigFile, writeConfigFile } from '../../model-repository/config-file.ts'
import { configHistory, configHistoryText, rememberConfigSave } from '../../model-repository/config-history.ts'
import type { HistoryPlace } from '../../model-repository/config-history.ts'
import { previewNormalisedConfig } from '../../model-repository/preview-normalised-config.ts'
import { ServerError } from '../../server-error.ts'
import type { DevicesView } from '../../telemetry/devices.ts'

export interface ConfigFilesContext {
  readonly server: InferenceServer
  readonly dataDirectory: string
  readonly backends: readonly string[]
  readonly isAutoCompleteOff?: boolean
  /** Asks CANN what an .om file is. Absent: such files are not looked into. */
  readonly readOm?: OmReader
  /** The cards that a config can name. */
  readonly devices: Pick<DevicesView, 'report'>
  readonly now: () => number
}

export async function openConfig({ server, backends, devices, isAutoCompleteOff = false, readOm }: ConfigFilesContext, name: string): Promise<ConfigFile> {
  const directory = server.modelDirectory(name)
  const path = join(directory, CONFIG_FILE_NAME)
  const [{ text, hash }, context] = await Promise.all([
    readConfigFile(path), readConfigContext(directory, {
      repositoryPath: repositoryOf(server, name), machine: machineWithCards(devices.report()), backends, isAutoCompleteOff, ...(readOm === undefined ? {} : { readOm }),
    }),
  ])
  return { path, text, hash, context }
}

/** `device_ids` in a config are ids in this process: where some cards are hidden, those that remain count from 0. */
function machineWithCards({ cards }: DevicesReport): MachineContext {
  const visible = cards.flatMap(({ visibleId, chip }) => (visibleId === null ? [] : [{ card: visibleId, chip }]))
  return { ...thisMachine(), npus: visible.length === 0 ? null : visible }
}

/** Saves, keeps the save in the history, and has the server look at the model again. */
export async function saveConfig(context: ConfigFilesContext, name: string, text: string | null, baseHash: string | null): Promise<ConfigSaveResult> {
  const { server } = context
  const result = await writeConfigFile({ modelDirectory: server.modelDirectory(name), repositoryPath: repositoryOf(server, name), text, baseHash })
  if (result.kind === 'conflict') return { kind: 'conflict', currentText: result.current.text, currentHash: result.current.hash }
  const { before } = result
  const replaced = before.text === null ? null : { text: before.text, modifiedAt: before.modifiedAt ?? context.now() }
  if (result.hash !== before.hash) await rememberConfigSave(placeOf(context, name), { replaced, text, time: context.now() })
  await server.rescan()
  return { kind: 'saved', hash: result.hash }
}

export async function listConfigHistory(context: ConfigFilesContext, name: string): Promise<readonly ConfigHistoryEntry[]> {
  return await configHistory(placeOf(context, name))
}

export async function readConfigHistory(context: ConfigFilesContext, name: string, id: string): Promise<{ text: string }> {
  return { text: await configHistoryText(placeOf(context, name), id) }
}

export async function configDrift({ server }: ConfigFilesContext, name: string): Promise<ConfigDrift> {
  const directory = server.modelDirectory(name)
  const { text } = await readConfigFile(join(directory, CONFIG_FILE_NAME))
  const isLoaded = summaryOf(server, name).versions.some((version) => version.state === 'READY')
  const preview = await previewNormalisedConfig({ text, path: join(directory, CONFIG_FILE_NAME), modelName: name, modelDirectory: directory, repositoryPath: repositoryOf(server, name) })
  return { onDisk: text, ...preview, running: isLoaded ? printModelConfig(server.modelConfig(name, '')) : null }
}

function placeOf({ server, dataDirectory }: ConfigFilesContext, name: string): HistoryPlace {
  return { dataDirectory, repositoryPath: repositoryOf(server, name), modelName: name }
}

function repositoryOf(server: InferenceServer, name: string): string {
  return summaryOf(server, name).repositoryPath
}

function summaryOf(server: InferenceServer, name: string): ReturnType<InferenceServer['modelSummaries']>[number] {
  const summary = server.modelSummaries().find((model) => model.name === name)
  if (summary === undefined) throw new ServerError('NOT_FOUND', `no model '${name}' in the repository`)
  return summary
}
