/** The README's curl: the sample repository, one loaded model, the request file beside it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSampleRepository } from '../model-repository/sample-repository.ts'
import { startServerProcess } from '../testing/server-process.ts'
import type { ServerProcess } from '../testing/server-process.ts'

const assetsDirectory = fileURLToPath(new URL('../../assets/sample-repository', import.meta.url))
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

let directory: string
let server: ServerProcess
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'readme-request-'))
  const repository = await createSampleRepository(directory, { assetsDirectory })
  server = await startServerProcess([`--model-repository=${repository}`, '--model-control-mode=explicit', '--load-model=silero_vad'])
})
afterAll(async () => {
  expect(await server.stop()).toBe(0)
  rmSync(directory, { recursive: true, force: true })
})

test('the curl of the README gets an answer: speech in the sample', async () => {
  const [, path = '', file = ''] = /curl -s 127\.0\.0\.1:8000(\S+) -d @(\S+)/.exec(readme) ?? []
  expect(path).toBe('/v2/models/silero_vad/infer')
  const body = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)))
  const response = await fetch(`http://127.0.0.1:${server.httpPort}${path}`, { method: 'POST', body })
  expect(response.status).toBe(200)
  const answer = await response.json() as { outputs: { name: string; data: number[] }[] }
  expect(answer.outputs.map((output) => output.name)).toEqual(['output'])
  expect(answer.outputs[0]?.data[0]).toBeGreaterThan(0.5)
})
