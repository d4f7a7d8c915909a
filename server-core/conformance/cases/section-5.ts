/** Section 5 of the protocol: endpoints other than inference, but for shared memory. */
import { expect } from 'vitest'
import type { ConformanceCase, HttpCase } from '../conformance-case.ts'
import { type Conversation, zeros } from '../conversation.ts'

function get(facts: HttpCase['facts'], target: string, status: number, more: Partial<HttpCase> = {}): HttpCase {
  return { facts, name: `GET ${target}`, transport: 'http', call: { path: target }, status, ...more }
}

function post(facts: HttpCase['facts'], name: string, target: string, status: number, more: Partial<HttpCase> & { readonly send?: string } = {}): HttpCase {
  const { send, ...rest } = more
  return { facts, name: `${name}: POST ${target}`, transport: 'http', call: { path: target, method: 'POST', ...(send === undefined ? {} : { body: send }) }, status, ...rest }
}

const control = (model: string, action: 'load' | 'unload' = 'load') => `/v2/repository/models/${model}/${action}`
const CONFIG = (name: string) => JSON.stringify({ name, backend: 'identity', max_batch_size: 2, input: [{ name: 'INPUT0', data_type: 'TYPE_FP32', dims: [4] }], output: [{ name: 'OUTPUT0', data_type: 'TYPE_FP32', dims: [4] }] })
const parameters = (values: object) => JSON.stringify({ parameters: values })

interface IndexEntry { readonly name: string; readonly version?: string; readonly state?: string; readonly reason?: string }

async function indexOf(conversation: Conversation, name: string, path = '/v2/repository/index', body = ''): Promise<IndexEntry[]> {
  const answer = await conversation.http({ path, method: 'POST', body })
  return (JSON.parse(answer.text) as IndexEntry[]).filter((entry) => entry.name === name)
}

async function control200(conversation: Conversation, model: string, action: 'load' | 'unload' = 'load', body = ''): Promise<void> {
  const answer = await conversation.http({ path: control(model, action), method: 'POST', body })
  expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([200, '', 'application/json'])
}

const ready = async (conversation: Conversation) => (await conversation.http({ path: '/v2/health/ready' })).status

export const SECTION_5_CASES: readonly ConformanceCase[] = [
  get(['5.1/live'], '/v2/health/live', 200, { body: '' }),
  get(['5.1/ready'], '/v2/health/ready', 200, { body: '' }),
  {
    facts: ['5.1/ready-with-unloaded', '5.8/unload', '5.8/index-reason'], name: 'ready with an unloaded model', transport: 'http', server: 'control',
    async run(conversation) {
      await control200(conversation, 'later')
      await control200(conversation, 'later', 'unload')
      await expect.poll(() => indexOf(conversation, 'later')).toEqual([{ name: 'later', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' }])
      expect(await ready(conversation)).toBe(200)
    },
  },
  {
    facts: ['5.1/ready-after-load-without-version', '5.8/poll-failure'], name: 'a directory that is not there', transport: 'http', server: 'control',
    async run(conversation) {
      expect((await conversation.http({ path: control('absent'), method: 'POST' })).status).toBe(500)
      expect(await ready(conversation)).toBe(200)
    },
  },
  {
    facts: ['5.1/ready-false-after-failed-load', '5.8/load-failed', '5.8/index-reason'], name: 'a version whose file is broken', transport: 'http', server: 'readiness',
    async run(conversation) {
      expect(await ready(conversation)).toBe(200)
      const failed = await conversation.http({ path: control('broken'), method: 'POST' })
      expect(failed.status).toBe(400)
      expect(await ready(conversation)).toBe(400)
      await control200(conversation, 'broken', 'unload')
      expect(await ready(conversation)).toBe(400)
      const [entry] = await indexOf(conversation, 'broken')
      expect(entry).toMatchObject({ state: 'UNAVAILABLE' })
      expect(entry?.reason).not.toBe('unloaded')
      await control200(conversation, 'broken', 'load', parameters({ config: CONFIG('broken') }))
      expect(await ready(conversation)).toBe(200)
    },
  },
  {
    facts: ['5.1/ready-false-while-loading'], name: 'a load of a second', transport: 'http', server: 'readiness',
    async run(conversation) {
      const load = conversation.running.server.loadModel('creeping')
      await expect.poll(() => indexOf(conversation, 'creeping')).toMatchObject([{ state: 'LOADING' }])
      expect(await ready(conversation)).toBe(400)
      await load
      expect(await ready(conversation)).toBe(200)
    },
  },
  get(['5.1/ready-not-strict'], '/v2/health/ready', 200, { server: 'fixed' }),
  get(['5.2/model-ready'], '/v2/models/plain/ready', 200, { body: '' }),
  get(['5.2/model-ready'], '/v2/models/plain/versions/3/ready', 200, { body: '' }),
  get(['5.3/metadata', '5.3/name-is-id'], '/v2', 200, { server: 'control', json: { name: 'control', version: '2.73.0' } }),
  get(['5.3/metadata', '5.3/extensions'], '/v2', 200, { body: '{"name":"triton","version":"2.73.0","extensions":["classification","sequence","model_repository","model_repository(unload_dependents)","schedule_policy","model_configuration","system_shared_memory","cuda_shared_memory","binary_tensor_data","parameters","statistics","trace","logging"]}' }),
  get(['5.4/never-known'], '/v2/models/nope', 404, { error: "Request for unknown model: 'nope' is not found" }),
  get(['5.4/version-not-known'], '/v2/models/plain/versions/2', 404, { error: "Request for unknown model: 'plain' version 2 is not found" }),
  get(['5.4/version-zero', '5.4/version-not-known'], '/v2/models/plain/versions/0', 404, { error: "Request for unknown model: 'plain' version 0 is not found" }),
  {
    facts: ['5.4/no-available-versions', '5.4/version-not-ready'], name: 'after an unload', transport: 'http', server: 'control',
    async run(conversation) {
      await control200(conversation, 'leaving')
      await control200(conversation, 'leaving', 'unload')
      await expect.poll(() => indexOf(conversation, 'leaving')).toMatchObject([{ state: 'UNAVAILABLE' }])
      const [without, withVersion] = await Promise.all([conversation.http({ path: '/v2/models/leaving' }), conversation.http({ path: '/v2/models/leaving/versions/1' })])
      expect([without.status, withVersion.status]).toEqual([404, 503])
    },
  },
  { facts: ['5.4/version-string-grpc'], name: 'letters', transport: 'grpc', method: 'ModelMetadata', request: { name: 'plain', version: 'x' }, error: ['INVALID_ARG', "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0"] },
  { facts: ['5.4/version-negative-grpc'], name: '-1', transport: 'grpc', method: 'ModelMetadata', request: { name: 'plain', version: '-1' }, error: ['INVALID_ARG', "invalid model version specified '-1' , version should be an integral value > 0"] },
  { facts: ['5.4/version-prefix-grpc'], name: '1x', transport: 'grpc', method: 'ModelMetadata', request: { name: 'plain', version: '1x' }, reply: { name: 'plain', versions: ['1'] } },
  { facts: ['5.4/version-zero'], name: '0', transport: 'grpc', method: 'ModelMetadata', request: { name: 'plain', version: '0' }, error: ['NOT_FOUND', "Request for unknown model: 'plain' version 0 is not found"] },
  get(['5.5/metadata', '5.5/versions', '5.5/platform', '5.5/shape'], '/v2/models/optional', 200, { body: '{"name":"optional","versions":["1"],"platform":"identity","inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1]},{"name":"INPUT1","datatype":"FP32","shape":[1]}],"outputs":[{"name":"OUTPUT0","datatype":"FP32","shape":[1]},{"name":"OUTPUT1","datatype":"FP32","shape":[1]}]}' }),
  get(['5.5/versions', '5.5/shape'], '/v2/models/plain/versions/3', 200, { json: { versions: ['3'], inputs: [{ shape: [-1, 4] }] } }),
  get(['5.5/versions'], '/v2/models/plain', 200, { json: { versions: ['1', '3'] } }),
  get(['5.5/shape'], '/v2/models/reshaped', 200, { json: { inputs: [{ shape: [-1, 4] }] } }),
  get(['5.6/config'], '/v2/models/batched/config', 200, { body: /"max_batch_size":8.*"data_type":"TYPE_FP32".*"default_timeout_microseconds":18446744073709551615/s }),
  {
    facts: ['5.7/statistics', '5.7/batch-stats', '5.7/response-stats'], name: 'after two requests', transport: 'http', server: 'control',
    async run(conversation) {
      for (const batch of [2, 1]) await conversation.inferHttp({ model: 'plain', inputs: [zeros('INPUT0', 'FP32', [batch, 4])] })
      const answer = await conversation.http({ path: '/v2/models/plain/stats' })
      const { model_stats: [stats] } = JSON.parse(answer.text) as { model_stats: [{ inference_stats: Record<string, { count: number }>; batch_stats: { batch_size: number }[] }] }
      expect(stats).toMatchObject({ name: 'plain', version: '1', inference_count: 3, execution_count: 2, response_stats: {}, memory_usage: [] })
      expect(Object.keys(stats.inference_stats)).toEqual(['success', 'fail', 'queue', 'compute_input', 'compute_infer', 'compute_output', 'cache_hit', 'cache_miss'])
      expect([stats.inference_stats['success']?.count, stats.inference_stats['queue']?.count]).toEqual([2, 2])
      expect(stats.batch_stats.map(({ batch_size: size }) => size)).toEqual([1, 2])
    },
  },
  get(['5.7/model-not-available'], '/v2/models/nope/stats', 400, { error: "requested model 'nope' is not available" }),
  get(['5.7/version-not-available'], '/v2/models/plain/versions/2/stats', 400, { error: "requested model version is not available for model 'plain'" }),
  {
    facts: ['5.8/index', '5.8/index-not-loaded', '5.8/index-ready', '5.8/index-repository-ignored'], name: 'the index', transport: 'http',
    async run(conversation) {
      expect(await indexOf(conversation, 'plain')).toEqual([{ name: 'plain', version: '1', state: 'READY' }, { name: 'plain', version: '3', state: 'READY' }])
      expect(await indexOf(conversation, 'never')).toEqual([{ name: 'never' }])
      expect(await indexOf(conversation, 'never', '/v2/repository/index', '{"ready":true}')).toEqual([])
      expect(await indexOf(conversation, 'never', '/v2/repository/any/index', '{"ready":false}')).toEqual([{ name: 'never' }])
    },
  },
  post(['5.8/index-ready-kind'], 'a number', '/v2/repository/index', 400, { send: '{"ready":1}', error: "Invalid value for 'ready': expected a boolean" }),
  {
    facts: ['5.8/load', '5.8/load-config'], name: 'without and with a config', transport: 'http', server: 'control',
    async run(conversation) {
      for (const body of ['', '{}', '{"parameters":{}}']) await control200(conversation, 'later', 'load', body)
      await control200(conversation, 'later', 'load', parameters({ config: CONFIG('later') }))
      expect(JSON.parse((await conversation.http({ path: '/v2/models/later/config' })).text)).toMatchObject({ max_batch_size: 2 })
    },
  },
  {
    facts: ['5.8/load-files', '5.8/load-broken-base64'], name: 'a model that the disk has not', transport: 'http', server: 'control',
    async run(conversation) {
      await control200(conversation, 'brought', 'load', parameters({ config: CONFIG('brought'), 'file:1/any': 'AAA' }))
      expect(await indexOf(conversation, 'brought')).toEqual([{ name: 'brought', version: '1', state: 'READY' }])
      await control200(conversation, 'brought', 'load', parameters({ config: CONFIG('brought'), 'file:1/any': '!' }))
    },
  },
  post(['5.8/load-files-without-config'], 'a file alone', control('single'), 500, { server: 'control', send: parameters({ 'file:1/any': '' }), error: "failed to load 'single', failed to poll from model repository" }),
  post(['5.8/load-file-escaping', '5.8/poll-failure'], 'a path that leaves', control('escaping'), 500, { server: 'control', send: parameters({ config: CONFIG('escaping'), 'file:../../x': '' }), error: "failed to load 'escaping', failed to poll from model repository" }),
  post(['5.8/load-unknown-key'], 'x', control('plain'), 500, { server: 'control', send: parameters({ x: 'y' }), error: 'unexpected error on creating Triton parameter' }),
  post(['5.8/load-non-string'], 'a number', control('plain'), 500, { server: 'control', send: parameters({ config: 1 }), error: 'attempt to access JSON non-string as string' }),
  post(['5.8/unload-unknown'], 'nobody', control('nobody', 'unload'), 200, { server: 'control', body: '' }),
  post(['5.8/unload-lenient'], 'kinds and keys', control('nobody', 'unload'), 200, { server: 'control', send: '{"parameters":{"unload_dependents":"x","y":1},"z":2}', body: '' }),
  {
    facts: ['5.8/unload-dependents'], name: 'a member loaded for its ensemble, and one loaded by itself', transport: 'http', server: 'readiness',
    async run(conversation) {
      for (const own of [false, true]) {
        if (own) await control200(conversation, 'member')
        await control200(conversation, 'whole')
        await control200(conversation, 'whole', 'unload', parameters({ unload_dependents: true }))
        await expect.poll(() => indexOf(conversation, 'whole')).toMatchObject([{ state: 'UNAVAILABLE' }])
        await expect.poll(() => indexOf(conversation, 'member')).toMatchObject([{ state: own ? 'READY' : 'UNAVAILABLE' }])
      }
    },
  },
  post(['5.8/not-explicit'], 'control mode none', control('plain'), 503, { server: 'fixed', error: 'explicit model load / unload is not allowed if polling is enabled' }),
  post(['5.8/repository-name'], 'a repository in the path', '/v2/repository/r/models/plain/load', 501, { server: 'control', error: "'repository_name' specification is not supported" }),
  { facts: ['5.8/empty-name'], name: 'no name', transport: 'grpc', server: 'control', method: 'RepositoryModelLoad', request: { model_name: ' ' }, error: ['INVALID_ARG', 'Model name cannot be empty. Please enter a valid name to deploy.'] },
  post(['5.8/path-traversal'], 'two dots', control('..'), 400, { server: 'control', error: /must not contain path traversal characters/ }),
  {
    facts: ['5.8/no-version'], name: 'the second of a circle of ensembles', transport: 'http', server: 'readiness',
    async run(conversation) {
      expect((await conversation.http({ path: control('one'), method: 'POST' })).status).toBe(400)
      expect((await conversation.http({ path: control('other'), method: 'POST' })).status).toBe(500)
    },
  },
  post(['5.8/index-two-repositories'], 'also with ready', '/v2/repository/index', 200, { server: 'twoRepositories', send: '{"ready":true}', body: '[{"name":"both","state":"UNAVAILABLE","reason":"model appears in two or more repositories"}]' }),
  {
    facts: ['5.8/load-failed-update', '5.8/index-after-failed-update'], name: 'an update that fails', transport: 'http', server: 'readiness',
    async run(conversation) {
      await control200(conversation, 'updated')
      const bad = CONFIG('updated').replace('"dims":[4]}]}', '"dims":[4]}],"parameters":{"execute_delay_ms":{"string_value":"x"}}}')
      expect((await conversation.http({ path: control('updated'), method: 'POST', body: parameters({ config: bad }) })).status).toBe(400)
      const [entry] = await indexOf(conversation, 'updated')
      expect(entry?.state).toBe('READY')
      expect(entry?.reason).not.toBe(undefined)
    },
  },
]
