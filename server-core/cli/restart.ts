/** How a running server starts again: as it was started, with what it serves and where it listens now, and with what is to be different. */
import type { ServerRestart, ServerStatus } from '../contract/console-api.ts'
import type { ServerOptions } from '../options.ts'
import { ServerError } from '../server-error.ts'
import { SimulatedNpu } from '../simulated-npu/simulated-npu.ts'
import { Machine } from '../telemetry/doctor/machine.ts'
import { APPLIED_VARIABLE, environmentWithCann, NO_SET_ENV } from './cann-environment.ts'
import { flagsIn, parseServeArguments } from './parse-arguments.ts'
import { restartFlags } from './restart-flags.ts'

/** What a server is in the middle of. */
export interface RunningState {
  readonly status: Pick<ServerStatus, 'http' | 'grpc' | 'metrics' | 'console' | 'controlMode' | 'repositoryPaths'>
  /** Names of the models that are ready. */
  readonly readyModels: readonly string[]
}

export interface PreparedRestart {
  /** Of `serve`. */
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

const PORTS = ['http', 'grpc', 'metrics', 'console'] as const
const REPLACED = new Set(['--model-repository', '--model-store', '--model-control-mode', '--load-model', '--exit-on-error', ...PORTS.map((name) => `--${name}-port`)])

/**
 * Checks what can be checked without starting.
 * @param args of `serve`, as this server was started
 * @throws ServerError INVALID_ARG, UNAVAILABLE, NOT_FOUND, INTERNAL: it would not start so
 */
export async function prepareRestart(args: readonly string[], change: ServerRestart, running: RunningState, machine: Machine): Promise<PreparedRestart> {
  const next = restartArguments(args, change, running)
  const options = parseServeArguments(next)
  await checkNpu(options, machine.environment)
  return { args: next, environment: await restartEnvironment(change, machine) }
}

/** @throws ServerError: what `--npu` says cannot be had */
export async function checkNpu({ npu, npuSimulatedCards }: Pick<ServerOptions, 'npu' | 'npuSimulatedCards'>, environment: NodeJS.ProcessEnv): Promise<void> {
  if (npu === 'simulated') await SimulatedNpu.check({ cards: npuSimulatedCards, environment })
}

export function restartArguments(args: readonly string[], change: ServerRestart, { status, readyModels }: RunningState): readonly string[] {
  const isChanged = (name: string) => (name === '--npu' && change.npuSource !== undefined) || (name === '--npu-simulated-cards' && change.simulatedCards !== undefined)
    || (name === '--npu-simulated-time-scale' && change.simulatedTimeScale !== undefined) || (name === '--npu-fallback' && change.npuFallback !== undefined) || (name === '--cann-set-env' && change.cannSetEnv !== undefined)
  const kept = flagsIn(args).filter(({ name }) => !REPLACED.has(name) && !isChanged(name)).map(({ name, text }) => `${name}=${text}`)
  return [
    ...kept,
    ...status.repositoryPaths.map((path) => `--model-repository=${path}`), `--model-control-mode=${status.controlMode}`,
    ...(status.controlMode === 'explicit' ? readyModels.map((model) => `--load-model=${model}`) : []),
    // A model that does not load with other cards is one to look at in the window, no reason to have none.
    '--exit-on-error=false',
    ...PORTS.flatMap((name) => { const address = status[name]; return address === null ? [] : [`--${name}-port=${address.port}`] }),
    ...restartFlags(change),
  ]
}

async function restartEnvironment({ cannSetEnv }: ServerRestart, machine: Machine): Promise<NodeJS.ProcessEnv> {
  const { environment } = machine
  if (cannSetEnv === undefined) return environment
  const { [APPLIED_VARIABLE]: applied = '', ...before } = environment
  if (cannSetEnv === NO_SET_ENV) {
    if (applied === '') return environment
    throw new ServerError('INVALID_ARG', `what ${applied} has set stays in this process: stop the server, and start it without --cann-set-env`)
  }
  return await environmentWithCann(cannSetEnv, new Machine({ ...machine.options, environment: before })) ?? environment
}
