/** The simulated CANN that the build puts beside the addon: where it lies, and which cards it can be. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NATIVE_ADDON_PATH } from '../backends/native-addon.ts'
import type { SimulatedCardProfile } from '../contract/devices.ts'
import { ServerError } from '../server-error.ts'

export const SIMULATED_CANN_DIRECTORY = join(dirname(NATIVE_ADDON_PATH), 'simulated-cann')

export interface SimulatedCann {
  /** Holds `lib64`, `bin` and `profiles.json`, as an installed CANN holds its parts. Absolute. */
  readonly directory: string
  readonly libraryDirectory: string
  /** Of its `npu-smi` and `atc`. */
  readonly toolDirectory: string
  readonly profiles: readonly SimulatedCardProfile[]
}

interface ProfileEntry {
  readonly soc: string
  readonly product: string
  readonly chipsPerCard?: number
  readonly cubeCores: number
  readonly memoryMegabytes: number
}

/** @throws ServerError UNAVAILABLE: it is not built, or cannot be read */
export async function readSimulatedCann(directory: string = SIMULATED_CANN_DIRECTORY): Promise<SimulatedCann> {
  const libraryDirectory = join(directory, 'lib64')
  const profilesPath = join(directory, 'profiles.json')
  if (!existsSync(profilesPath) || !existsSync(join(libraryDirectory, 'libdcmi.so'))) {
    throw new ServerError('UNAVAILABLE', `The simulated CANN is not there (${directory}): install g++, cmake and make, then run: npm run build`)
  }
  try {
    const { profiles } = JSON.parse(await readFile(profilesPath, 'utf8')) as { readonly profiles: Readonly<Record<string, ProfileEntry>> }
    return {
      directory, libraryDirectory, toolDirectory: join(directory, 'bin'),
      profiles: Object.entries(profiles).map(([name, { soc, product, chipsPerCard = 1, cubeCores, memoryMegabytes }]) => ({
        name, chip: soc, product, chipCount: chipsPerCard, aiCores: cubeCores, memoryBytes: memoryMegabytes * 2 ** 20,
      })),
    }
  } catch (error) {
    throw new ServerError('UNAVAILABLE', `${profilesPath} cannot be read: ${error instanceof Error ? error.message : String(error)}. Build it again: npm run build`, { cause: error })
  }
}
