/** `--npu` and `--cann-set-env` of commands that ask CANN about an .om file without a server. */
import type { OmReader } from '../model-config/om-passport.ts'
import { omReader } from '../model-config/om-passport.ts'
import { DEFAULT_SERVER_OPTIONS } from '../options.ts'
import { ServerError } from '../server-error.ts'
import { SimulatedNpu } from '../simulated-npu/simulated-npu.ts'
import { thisMachine } from '../telemetry/doctor/machine.ts'
import { environmentWithCann } from './cann-environment.ts'

export const CANN_FLAGS_USAGE = '[--npu=auto|simulated] [--cann-set-env=auto|PATH]'

export interface CannFlags {
  readonly npu: string | undefined
  readonly cannSetEnv: string | undefined
}

/**
 * @param use gets what asks the CANN that the flags mean; with `--npu=simulated` that works only until `use` is done
 * @throws ServerError INVALID_ARG for a flag that cannot be meant, what `environmentWithCann` and `SimulatedNpu.start` throw, and what `use` throws
 */
export async function withOmReader<T>({ npu = 'auto', cannSetEnv = '' }: CannFlags, environment: NodeJS.ProcessEnv, use: (readOm: OmReader) => Promise<T>): Promise<T> {
  if (npu === 'auto') return use(omReader({ environment: await environmentWithCann(cannSetEnv, thisMachine(environment, null)) ?? environment }))
  if (npu !== 'simulated') throw new ServerError('INVALID_ARG', `--npu is auto or simulated here, not '${npu}'`)
  if (cannSetEnv !== '') throw new ServerError('INVALID_ARG', '--npu=simulated brings its own CANN: leave out --cann-set-env')
  const simulated = await SimulatedNpu.start({ cards: DEFAULT_SERVER_OPTIONS.npuSimulatedCards, timeScale: 0, environment })
  try {
    return await use(omReader({ environment: simulated.environment, cannLibraryDirectory: simulated.cann.libraryDirectory }))
  } finally {
    await simulated.stop()
  }
}
