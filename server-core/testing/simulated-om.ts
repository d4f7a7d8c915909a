/** .om files made by the simulated atc, for tests of what reads and serves them. Needs the native build: node scripts/build.mjs --only native */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { omReader, type OmReader } from '../model-config/om-passport.ts'
import { SimulatedNpu } from '../simulated-npu/simulated-npu.ts'

const run = promisify(execFile)

/** Simulated cards with a folder for files, and the atc that compiles for them. */
export class SimulatedOm implements AsyncDisposable {
  readonly npu: SimulatedNpu
  readonly directory = mkdtempSync(join(tmpdir(), 'simulated-om-'))
  readonly readOm: OmReader

  private constructor(npu: SimulatedNpu) {
    this.npu = npu
    this.readOm = omReader({ environment: npu.environment, cannLibraryDirectory: npu.cann.libraryDirectory })
  }

  static async start(cards: readonly string[] = ['310P3', '310P3']): Promise<SimulatedOm> {
    return new SimulatedOm(await SimulatedNpu.start({ cards, timeScale: 0, environment: process.env }))
  }

  /**
   * @param options of atc beyond model, framework, output and soc_version: `--input_shape=A:-1,3`
   * @returns the path of the .om file
   */
  async compile(name: string, onnx: Uint8Array, options: readonly string[] = []): Promise<string> {
    const source = join(this.directory, `${name}.onnx`)
    writeFileSync(source, onnx)
    const output = join(this.directory, name)
    await run(join(this.npu.cann.toolDirectory, 'atc'), [`--model=${source}`, '--framework=5', `--output=${output}`, '--soc_version=Ascend310P3', ...options], { env: this.npu.environment })
    return `${output}.om`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.directory, { recursive: true, force: true })
    await this.npu.stop()
  }
}
