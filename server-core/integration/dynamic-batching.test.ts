import { afterEach, beforeEach, expect, it } from 'vitest'
import type { InferenceRequest } from '../contract/inference.ts'
import { TemporaryRepository, identityConfig } from '../testing/temporary-repository.ts'
import { createTestServer, fp32, requestOf, type TestServer } from '../testing/test-server.ts'

/** Queues of a running server; the identity backend sleeps so that requests wait. */
const SLOW = 'parameters { key: "execute_delay_ms" value { string_value: "40" } }'
const levels = (more: string) => identityConfig(`instance_group { count: 1 kind: KIND_CPU } ${SLOW} dynamic_batching { priority_levels: 18446744073709551615 default_priority_level: 18446744073709551614 ${more} }`, 1)

let repository: TemporaryRepository
let test: TestServer

beforeEach(async () => {
  repository = await TemporaryRepository.create({
    'levels/config.pbtxt': levels('priority_queue_policy { key: 3 value { max_queue_size: 1 } }'), 'levels/1/x': '',
    'ordered/config.pbtxt': identityConfig(`instance_group { count: 2 kind: KIND_CPU } ${SLOW}
      parameters { key: "instance_wise_delay_multiplier" value { string_value: "5" } } dynamic_batching { preserve_ordering: true }`, 1), 'ordered/1/x': '',
    'started/config.pbtxt': identityConfig('instance_group { count: 1 kind: KIND_CPU } dynamic_batching { }'), 'started/1/x': '',
  })
  test = createTestServer([repository.path])
  await test.server.start()
})

afterEach(async () => {
  await test[Symbol.asyncDispose]()
  await repository[Symbol.asyncDispose]()
})

const input = fp32('INPUT0', [1, 4], [1, 2, 3, 4])

/** Sends all at once and tells in which order the answers come. */
async function answersOf(model: string, requests: readonly Partial<InferenceRequest>[]): Promise<string[]> {
  const order: string[] = []
  await Promise.all(requests.map((more) => test.server.infer(requestOf(model, [input], more)).then(
    ({ response }) => { order.push(response.id) },
    (error: unknown) => { order.push(error instanceof Error ? error.message : String(error)) },
  )))
  return order
}

it('serves priorities in order, up to the last of 64 bits, and limits a level', async () => {
  await test.server.loadModel('levels')
  expect(await answersOf('levels', [
    { id: 'running' }, { id: 'last', priority: 18446744073709551615n }, { id: 'default' }, { id: 'low', priority: 3n }, { id: 'refused', priority: 3n }, { id: 'first', priority: 1n },
  ])).toEqual(['[request id: refused] Exceeds maximum queue size', 'running', 'first', 'low', 'default', 'last'])
})

it('answers in the order of the requests with preserve_ordering, whichever instance is faster', async () => {
  await test.server.loadModel('ordered')
  const ids = ['a', 'b', 'c', 'd', 'e']
  expect(await answersOf('ordered', ids.map((id) => ({ id })))).toEqual(ids)
})

it('waits for TRITONSERVER_DELAY_SCHEDULER requests before the first batch', async () => {
  process.env['TRITONSERVER_DELAY_SCHEDULER'] = '3'
  try {
    await test.server.loadModel('started')
  } finally {
    delete process.env['TRITONSERVER_DELAY_SCHEDULER']
  }
  await answersOf('started', [{ id: 'a' }, { id: 'b' }, { id: 'c' }])
  expect(test.server.modelStatistics('started', '')[0]?.batch_stats.map(({ batch_size: size, compute_infer: { count } }) => [size, count])).toEqual([[3, 1]])
})
