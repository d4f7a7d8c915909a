/**
 * The yardstick: onnxruntime-node alone in a process, no server. `bare-loop.ts throughput <model> <threads> <seconds>` runs the recogniser in a
 * loop at several batch sizes and prints items per second; `bare-loop.ts hold <model>...` holds one session per model and prints its own
 * resident memory once they are ready.
 */
process.env['ORT_DISABLE_TELEMETRY'] = '1'
const { InferenceSession, Tensor } = await import('onnxruntime-node')
import { readFileSync } from 'node:fs'

const BATCH_SIZES = [1, 2, 4, 8, 16]
const ITEM_SHAPE = [3, 48, 320]

const [mode, ...rest] = process.argv.slice(2)

if (mode === 'throughput') {
  const [model = '', threads = '1', seconds = '5'] = rest
  const session = await InferenceSession.create(model, { intraOpNumThreads: Number(threads), interOpNumThreads: 1, logSeverityLevel: 3 })
  const itemSize = ITEM_SHAPE.reduce((product, dim) => product * dim, 1)
  const results: Record<number, number> = {}
  for (const batchSize of BATCH_SIZES) {
    const input = new Tensor('float32', new Float32Array(batchSize * itemSize).fill(0.1), [batchSize, ...ITEM_SHAPE])
    const run = () => session.run({ [session.inputNames[0] ?? 'x']: input })
    await run()
    const started = performance.now()
    let items = 0
    while (performance.now() - started < Number(seconds) * 1000) {
      await run()
      items += batchSize
    }
    results[batchSize] = items / ((performance.now() - started) / 1000)
  }
  process.stdout.write(JSON.stringify(results))
} else if (mode === 'hold') {
  const sessions = await Promise.all(rest.map((model) => InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 })))
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  process.stdout.write(JSON.stringify({ sessions: sessions.length, residentBytes: Number(resident) * 1024 }))
} else {
  throw new Error(`unknown mode '${mode}': throughput or hold`)
}
