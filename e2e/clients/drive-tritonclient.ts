/**
 * npm run test:clients: Triton's own Python client, through every call that it has, against a fresh server on free ports, and its gRPC clients against servers with
 * TLS and mutual TLS. Prints a table and ends with 0 only when every call went as it should. Needs a Python that can import `tritonclient`: PYTHON, or python3 of the path.
 *   --client=grpc.aio (repeatable) drives one of http, grpc, http.aio, grpc.aio; --serve only serves the models and says the ports
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startServerProcess } from '../../server-core/testing/server-process.ts'
import { TestCertificates } from '../../server-core/testing/test-certificates.ts'
import { TemporaryRepository } from '../../server-core/testing/temporary-repository.ts'
import { arithmetic, clientModels, CLIENT_MODELS } from './client-models.ts'

interface CallResult {
  readonly client: string
  readonly call: string
  readonly case: string
  readonly error: string | null
}

const CALLS = fileURLToPath(new URL('tritonclient_calls.py', import.meta.url))
const TLS_CALLS = fileURLToPath(new URL('tritonclient_tls.py', import.meta.url))
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
    const results = await drive(CALLS, [`--http=127.0.0.1:${server.httpPort}`, `--grpc=127.0.0.1:${server.grpcPort}`, `--model-file=${modelFile}`, ...values.client.map((name) => `--client=${name}`)])
    if (values.client.length === 0) results.push(...await driveTls())
    const failed = results.filter(({ error }) => error !== null).length
    process.stdout.write(`\n${results.length - failed} ok, ${failed} failed\n`)
    if (failed > 0) process.stdout.write(`\nend of the server's log:\n${server.output().split('\n').slice(-30).join('\n')}\n`)
    process.exitCode = failed === 0 && results.length > 0 ? 0 : 1
  }
} finally {
  await server.stop()
}

/** Runs a program that tells each of its cases. @returns them, and the end of the program where that was no good one */
async function drive(program: string, flags: readonly string[]): Promise<CallResult[]> {
  const child = spawn(python, [program, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const results: CallResult[] = []
  const add = (result: CallResult) => {
    results.push(result)
    process.stdout.write(`${result.client.padEnd(9)} ${result.call.padEnd(32)} ${result.case.padEnd(70)} ${result.error === null ? 'ok' : `FAILED\n          ${result.error}`}\n`)
  }
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith('{')) add(JSON.parse(line) as CallResult)
  const [code] = await exited as [number | null]
  if (code !== 0) add({ client: '', call: '', case: basename(program), error: `the Python program ended with code ${code}` })
  return results
}

/** HTTP has no TLS, as tritonserver's has none. */
async function driveTls(): Promise<CallResult[]> {
  using certificates = new TestCertificates()
  const flags = [
    `--model-repository=${repository.path}`, '--model-control-mode=explicit', '--load-model=simple', `--grpc-server-cert=${certificates.path('server.crt')}`,
    `--grpc-server-key=${certificates.path('server.key')}`, `--grpc-root-cert=${certificates.path('ca.crt')}`,
  ]
  const servers = await Promise.all([startServerProcess([...flags, '--grpc-use-ssl=true']), startServerProcess([...flags, '--grpc-use-ssl-mutual=true'])])
  try {
    return await drive(TLS_CALLS, [`--tls=127.0.0.1:${servers[0].grpcPort}`, `--mutual=127.0.0.1:${servers[1].grpcPort}`, `--certificates=${certificates.directory}`])
  } finally {
    await Promise.all(servers.map((running) => running.stop()))
  }
}
