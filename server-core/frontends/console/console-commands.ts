/** What each console command does: translate, call the server, translate back. One entry per command of the contract. */
import { readFile, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, sep } from 'node:path'
import { findPythonInterpreters } from '../../backends/python/environments/python-interpreters.ts'
import { pythonVariables } from '../../backends/python/python-environment.ts'
import { readPythonSettings } from '../../backends/python/python-settings.ts'
import type { CommandResult, ConsoleCommandName, ConsoleEventName, ConsoleEvents, ModelDetail, ServerRestart, ServerStatus } from '../../contract/console-api.ts'
import type { InferenceServer } from '../../inference-server.ts'
import type { LogHub } from '../../logger.ts'
import type { NpuSimulation } from '../../simulated-npu/npu-simulation.ts'
import type { DevicesView } from '../../telemetry/devices.ts'
import { omReader } from '../../model-config/om-passport.ts'
import type { OmReader } from '../../model-config/om-passport.ts'
import { printModelConfig } from '../../model-config/print-config.ts'
import { listTemplates } from '../../model-repository/model-templates.ts'
import { createSampleRepository } from '../../model-repository/sample-repository.ts'
import { ServerError } from '../../server-error.ts'
import { bytesField, importSourceArgument, serverRestartArgument, inferenceRequestArgument, numberField, objectArgument, stringField, stringOrNullField } from './command-arguments.ts'
import { openCode, saveCode } from './code-files.ts'
import { configDrift, listConfigHistory, openConfig, readConfigHistory, saveConfig } from './config-files.ts'
import type { ConfigFilesContext } from './config-files.ts'
import { browseDirectory } from './directory-browser.ts'
import { recentRepositories, rememberRepository } from './recent-repositories.ts'
import { ModelImports } from './model-imports.ts'
import { listSamples, readModelDirectoryFile, sampleMediaType } from './model-directory-files.ts'

/**
 * Resolves when it is certain that the server goes down and comes up again so. @throws ServerError INVALID_ARG, UNAVAILABLE, NOT_FOUND: it could
 * not start so, and nothing happens
 */
export type RestartServer = (change: ServerRestart) => Promise<void>

export interface ConsoleCommandContext {
  readonly server: InferenceServer
  readonly status: () => ServerStatus
  readonly logs: LogHub
  /** Where the user's own data lies; the sample repository is made in it. */
  readonly dataDirectory: string
  /** Our shipped `assets` folder; `sample-repository` in it holds the templates. */
  readonly assetsDirectory: string
  /** Names of the backends that models can ask for. */
  readonly backends: readonly string[]
  readonly devices: DevicesView
  readonly simulation: NpuSimulation
  /** Null: whoever started this server cannot start it again. */
  readonly restart: RestartServer | null
  /** The server runs with `--disable-auto-complete-config`. */
  readonly isAutoCompleteOff?: boolean
  /** `--backend-config` for models written in Python. */
  readonly pythonBackendConfig?: Readonly<Record<string, string>>
  /** Asks the CANN of this server. Default: the one that this process's environment leads to. */
  readonly readOm?: OmReader
}

/** The window that sent a command. */
export interface ConsoleCaller {
  /** Fires when its connection ends. */
  readonly closed: AbortSignal
  sendEvent<K extends ConsoleEventName>(name: K, value: ConsoleEvents[K]): void
}

/** A handler gets the arguments as they came and checks them itself. */
export type ConsoleCommandHandlers = {
  readonly [K in ConsoleCommandName]: (args: unknown, caller: ConsoleCaller) => CommandResult<K> | Promise<CommandResult<K>>
}

const MAXIMUM_SAMPLE_BYTES = 64 * 1024 * 1024
const MAXIMUM_TEXT_BYTES = 4 * 1024 * 1024
const LOG_EXCERPT_ENTRIES = 100

export function consoleCommandHandlers(context: ConsoleCommandContext): ConsoleCommandHandlers {
  const { server, status, logs, devices } = context
  const configs: ConfigFilesContext = {
    server, dataDirectory: context.dataDirectory, backends: context.backends, isAutoCompleteOff: context.isAutoCompleteOff === true, devices, now: Date.now,
    readOm: context.readOm ?? omReader(),
  }
  const imports = new ModelImports(context)
  return {
    'server.status': () => status(),
    'server.restart': async (args) => {
      if (context.restart === null) throw new ServerError('UNSUPPORTED', 'this server cannot start itself again: stop it, and start it with the flags you want')
      await context.restart(serverRestartArgument(args))
    },
    'repository.models': () => server.modelSummaries(),
    'repository.rescan': async () => {
      await server.rescan()
      return server.modelSummaries()
    },
    'repository.open': async (args) => {
      await openRepository(context, stringField(objectArgument(args, 'arguments'), 'path'))
      return status()
    },
    'repository.browse': (args) => browseDirectory(stringField(objectArgument(args, 'arguments'), 'path')),
    'repository.openSample': async () => {
      const path = await createSampleRepository(context.dataDirectory, { assetsDirectory: join(context.assetsDirectory, 'sample-repository') })
      await openRepository(context, path)
      return status()
    },
    'repository.recent': () => recentRepositories(context.dataDirectory),
    'repository.trust': (args) => server.trustRepository(stringField(objectArgument(args, 'arguments'), 'path')),
    'repository.revokeTrust': (args) => server.revokeTrust(stringField(objectArgument(args, 'arguments'), 'path')),
    'model.load': (args) => server.loadModel(stringField(objectArgument(args, 'arguments'), 'name')),
    'model.unload': (args) => {
      const from = objectArgument(args, 'arguments')
      return server.unloadModel(stringField(from, 'name'), from['unloadDependents'] === true)
    },
    'model.traffic': (args) => {
      const from = objectArgument(args, 'arguments')
      const split = from['split'] === null ? null : objectArgument(from['split'], 'split')
      server.setTrafficSplit(stringField(from, 'name'), split === null ? null : { version: stringField(split, 'version'), percent: numberField(split, 'percent', 0, 100) })
    },
    'model.detail': (args) => modelDetail(context, stringField(objectArgument(args, 'arguments'), 'name')),
    'model.sample': async (args) => {
      const from = objectArgument(args, 'arguments')
      const path = stringField(from, 'path')
      return { data: await readModelDirectoryFile(server.modelDirectory(stringField(from, 'name')), path, MAXIMUM_SAMPLE_BYTES), mediaType: sampleMediaType(path) }
    },
    'model.file': async (args) => {
      const from = objectArgument(args, 'arguments')
      return { data: await readModelDirectoryFile(server.modelDirectory(stringField(from, 'name')), stringField(from, 'path'), MAXIMUM_TEXT_BYTES) }
    },
    'model.ensembleGraph': (args) => server.ensembleGraph(stringField(objectArgument(args, 'arguments'), 'name'), ''),
    'model.infer': (args) => server.infer(inferenceRequestArgument(objectArgument(args, 'arguments')['request'])),
    'template.list': () => listTemplates(context.assetsDirectory),
    'import.open': (args, caller) => {
      const from = objectArgument(args, 'arguments')
      return imports.open(caller, importSourceArgument(from['source']), stringOrNullField(from, 'importId'))
    },
    'import.chunk': (args) => {
      const from = objectArgument(args, 'arguments')
      const whole = Number.MAX_SAFE_INTEGER
      return imports.chunk(stringField(from, 'importId'), numberField(from, 'file', 0, whole), numberField(from, 'offset', 0, whole), bytesField(from, 'data'))
    },
    'import.review': (args) => {
      const from = objectArgument(args, 'arguments')
      return imports.review(stringField(from, 'importId'), stringOrNullField(from, 'backend'))
    },
    'import.create': (args, caller) => {
      const from = objectArgument(args, 'arguments')
      return imports.create(caller, {
        importId: stringField(from, 'importId'), backend: stringField(from, 'backend'), modelName: stringField(from, 'modelName'),
        asVersion: from['asVersion'] === true, link: from['link'] === true,
      })
    },
    'import.close': (args) => imports.close(stringField(objectArgument(args, 'arguments'), 'importId')),
    'config.open': (args) => openConfig(configs, stringField(objectArgument(args, 'arguments'), 'name')),
    'config.save': (args) => {
      const from = objectArgument(args, 'arguments')
      return saveConfig(configs, stringField(from, 'name'), stringOrNullField(from, 'text'), stringOrNullField(from, 'baseHash'))
    },
    'config.history': (args) => listConfigHistory(configs, stringField(objectArgument(args, 'arguments'), 'name')),
    'config.historyText': (args) => {
      const from = objectArgument(args, 'arguments')
      return readConfigHistory(configs, stringField(from, 'name'), stringField(from, 'id'))
    },
    'code.open': (args) => {
      const from = objectArgument(args, 'arguments')
      return openCode(server, stringField(from, 'name'), from['version'] === null ? null : numberField(from, 'version', 0, Number.MAX_SAFE_INTEGER))
    },
    'code.save': (args) => {
      const from = objectArgument(args, 'arguments')
      return saveCode(server, stringField(from, 'name'), numberField(from, 'version', 0, Number.MAX_SAFE_INTEGER), stringField(from, 'text'), stringField(from, 'baseHash'))
    },
    'config.drift': (args) => configDrift(configs, stringField(objectArgument(args, 'arguments'), 'name')),
    'statistics.history': (args) => server.sampleHistory(numberField(objectArgument(args, 'arguments'), 'seconds', 0, 3600)),
    'devices.report': () => devices.report(),
    'npu.simulation': () => context.simulation.report(),
    'npu.setFaults': (args) => context.simulation.setFaults(objectArgument(args, 'arguments')['faults']),
    'doctor.run': () => devices.runDoctor(),
    'python.interpreters': async (args) => {
      const model = stringOrNullField(objectArgument(args, 'arguments'), 'model')
      const settings = readPythonSettings(context.pythonBackendConfig ?? {})
      const untrusted = new Set<string>()
      for (const path of server.repositoryPaths) if (await server.untrustedPath(path) !== null) untrusted.add(path)
      // What lies beside a repository that somebody unpacked came with it.
      const repositories = server.repositoryPaths.flatMap((path) => (untrusted.has(path) ? [path] : [path, dirname(path)]))
      return findPythonInterpreters({
        defaultInterpreter: settings.interpreter, environment: pythonVariables(settings),
        directories: [...new Set([...(model === null ? [] : [server.modelDirectory(model)]), ...repositories])],
        mayStart: (file) => ![...untrusted].some((path) => file.startsWith(path + sep)),
      })
    },
    'log.recent': (args) => logs.recent(numberField(objectArgument(args, 'arguments'), 'count', 0, 100_000)),
  }
}

async function openRepository({ server, dataDirectory }: ConsoleCommandContext, path: string): Promise<void> {
  if (!isAbsolute(path)) throw new ServerError('INVALID_ARG', `'${path}' is not an absolute path`)
  const information = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new ServerError('NOT_FOUND', `the folder '${path}' cannot be opened: ${error.code === 'ENOENT' ? 'it does not exist' : error.message}`, { cause: error })
  })
  if (!information.isDirectory()) throw new ServerError('INVALID_ARG', `'${path}' is a file: choose the folder that holds the model folders`)
  await server.replaceRepository(path)
  await rememberRepository(dataDirectory, path)
}

async function modelDetail({ server, logs }: ConsoleCommandContext, name: string): Promise<ModelDetail> {
  const directory = server.modelDirectory(name)
  const configText = await readTextOrNull(join(directory, 'config.pbtxt'))
  const samples = await listSamples(directory)
  // From here on without waiting: what events told while the disk was read must not be undone by an older summary.
  const summary = server.modelSummaries().find((model) => model.name === name)
  if (summary === undefined) throw new ServerError('NOT_FOUND', `no model '${name}' in the repository`)
  const isLoaded = summary.versions.some((version) => version.state === 'READY')
  const config = isLoaded ? server.modelConfig(name, '') : null
  return {
    summary,
    metadata: isLoaded ? server.modelMetadata(name, '') : null,
    config,
    configText,
    effectiveConfigText: config === null ? null : printModelConfig(config),
    samples,
    log: logs.recent(LOG_EXCERPT_ENTRIES, name),
  }
}

async function readTextOrNull(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    // A folder is no text; the load and the editor say what to do about it.
    if (error.code === 'ENOENT' || error.code === 'EISDIR') return null
    throw new ServerError('UNAVAILABLE', `${path} cannot be read: ${error.message}`, { cause: error })
  })
}
