/** Builds the C++ tests of a preset, for the test files that run them: several may ask at once and share one build. */
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const native = import.meta.dirname

/** How long a build may take on a slow machine, for the time limits of tests. */
export const BUILD_MILLISECONDS = 20 * 60_000

/** Where a preset of CMakePresets.json builds. */
export function buildDirectory(preset: string): string {
  return join(native, '../build', `native-${preset}`)
}

/** Where the backends of the C++ tests lie, in a folder each, after `buildPreset('test', 'fixture_backends')`. */
export const FIXTURE_BACKENDS = join(buildDirectory('test'), 'test/backends')
/** A batching library: `volume.cc` among the fixtures. */
export const VOLUME_LIBRARY = join(buildDirectory('test'), 'test/batching/volume.so')

/** Configures and builds; what is up to date takes a second. Others wait for their turn. */
export async function buildPreset(preset: string, target = 'all'): Promise<void> {
  mkdirSync(join(native, '../build'), { recursive: true })
  const steps = `cmake --preset ${preset} && cmake --build --preset ${preset} --target ${target}`
  const { output, failure } = await runProgram('flock', [`${buildDirectory(preset)}.lock`, 'sh', '-c', steps])
  if (failure === null) return
  throw new Error(`${output}\n${steps} failed (${failure}): where a program could not be started, install cmake, make, a C++ compiler and flock `
    + '(Debian: apt-get install -y cmake make g++ util-linux); otherwise the output above says what is wrong')
}

/** Not synchronous: a build takes longer than vitest waits for a worker that does not answer. `failure`: exit code or signal; null when all went well. */
export function runProgram(command: string, args: readonly string[], environment: Record<string, string> = {}): Promise<{ output: string; failure: string | null }> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: native, env: { ...process.env, ...environment }, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      resolve({ output: `${stdout}${stderr}`, failure: error === null ? null : `${error.code ?? error.signal ?? error.message}` })
    })
  })
}
