/**
 * npm run test:clients: Triton's own Python client, through every call that it has, against a fresh server on free ports. Prints a table and
 * ends with 0 only when every call went as it should. Needs a Python that can import `tritonclient`: PYTHON, or python3 of the path.
 *   --client=grpc.aio (repeatable) drives one of http, grpc, http.aio, grpc.aio; --serve only serves the models and says the ports
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startServerProcess } from '../../server-core/testing/server-process.ts'
import { TemporaryRepository } from '../../server-core/testing/temporary-repository.ts'
import { arithmetic, clientModels, CLIENT_MODELS } from './client-models.ts'

interface CallResult {
  readonly client: string
  readonly call: string
  readonly case: string
  readonly error: string | null
}

const DRIVER = fileURLToPath(new URL('tritonclient_calls.py', import.meta.url))
const { values } = parseArgs({ options: { client: { type: 'string', multiple: true, default: [] }, serve: { type: 'boolean', default: false } } })
const python = process.env['PYTHON'] ?? 'python3'

const found = spawnSync(python, ['-c', 'import tritonclient.http, tritonclient.grpc, tritonclient.http.aio'], { encoding: 'utf8' })
if (!values.serve && (found.error !== undefined || found.status !== 0)) {
  const reason = found.error?.message ?? found.stderr.trim().split('\n').at(-1) ?? ''
  process.stderr.write(`test:clients: ${python} cannot import Triton's client (${reason}). Install it with "pip install tritonclient[all]", or set PYTHON to a Python that has it.\n`)
  process.exit(1)
}

await using repository = await TemporaryRepository.create(clientModels())
await using files = await TemporaryRepository.create()
const modelFile = join(files.path, 'sent.onnx')
writeFileSync(modelFile, arithmetic('Add'))
const server = await startServerProcess([
  `--model-repository=${repository.path}`, '--model-control-mode=explicit', ...CLIENT_MODELS.map((name) => `--load-model=${name}`), '--allow-client-shm=true',
  '--http-max-input-size=268435456',
])
try {
  if (values.serve) {
    process.stdout.write(`HTTP 127.0.0.1:${server.httpPort}, gRPC 127.0.0.1:${server.grpcPort}; Ctrl+C ends it\n`)
    await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  } else {
    process.exitCode = await drive() ? 0 : 1
  }
} finally {
  await server.stop()
}

/** @returns whether everything went well */
async function drive(): Promise<boolean> {
  const child = spawn(python, [
    DRIVER, `--http=127.0.0.1:${server.httpPort}`, `--grpc=127.0.0.1:${server.grpcPort}`, `--model-file=${modelFile}`, ...values.client.map((name) => `--client=${name}`),
  ], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const results: CallResult[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{')) continue
    const result = JSON.parse(line) as CallResult
    results.push(result)
    process.stdout.write(`${result.client.padEnd(9)} ${result.call.padEnd(32)} ${result.case.padEnd(70)} ${result.error === null ? 'ok' : `FAILED\n          ${result.error}`}\n`)
  }
  const [code] = await exited as [number | null]
  const failed = results.filter(({ error }) => error !== null).length
  process.stdout.write(`\n${results.length - failed} ok, ${failed} failed\n`)
  if (code !== 0) process.stderr.write(`test:clients: the Python program ended with code ${code}\n`)
  if (failed > 0 || code !== 0) process.stdout.write(`\nend of the server's log:\n${server.output().split('\n').slice(-30).join('\n')}\n`)
  return code === 0 && failed === 0 && results.length > 0
}
