/** Facts that take a model with code of its own: what a backend hears, counts, and answers late or not at all. */
import { expect } from 'vitest'
import type { ConformanceCase } from '../conformance-case.ts'

const call = (model: string, action: string, document: object, headers: Readonly<Record<string, string>> = {}) =>
  ({ method: 'POST' as const, path: `/v2/models/${model}/${action}`, body: JSON.stringify(document), headers })
const inferOf = (parameters?: object) => ({ inputs: [{ name: 'IN', datatype: 'INT32', shape: [1], data: [1] }], ...(parameters === undefined ? {} : { parameters }) })
/** What the model `told` says that it heard. */
const heard = (answer: { readonly text: string }): unknown => JSON.parse((JSON.parse(answer.text) as { outputs: [{ data: [string] }] }).outputs[0].data[0])

export const PYTHON_MODEL_CASES: readonly ConformanceCase[] = [
  {
    facts: ['6.3/custom-parameters'], name: 'one of each kind', transport: 'http', server: 'python',
    run: async (c) => { expect(heard(await c.inferJson('told', inferOf({ text: 'x', whole: -3, flag: true, priority: 0 })))).toEqual({ text: 'x', whole: -3, flag: true }) },
  },
  {
    facts: ['6.8/forwarded'], name: 'those that match, with their spelling', transport: 'http', server: 'python',
    run: async (c) => { expect(heard(await c.inferJson('told', inferOf(), { 'X-Name': 'value', Other: 'not this one' }))).toEqual({ 'X-Name': 'value' }) },
  },
  {
    facts: ['10/custom'], name: 'a counter of a model', transport: 'http', server: 'python',
    run: async (c) => {
      await c.inferJson('told', inferOf())
      expect((await c.metrics({ path: '/metrics' })).text).toMatch(/# HELP told_total Requests\n# TYPE told_total counter\ntold_total\{model="told"\} [1-9]/)
    },
  },
  { facts: ['5.2/model-not-ready'], name: 'a model that says so', transport: 'http', server: 'python', call: { path: '/v2/models/ill/ready' }, status: 400, error: 'Model version not ready' },
  {
    facts: ['7/stream-later-error'], name: 'after one answer', transport: 'http', server: 'python', call: call('several', 'generate_stream', { IN: 1 }), status: 200,
    body: 'data: {"OUT":1,"model_name":"several","model_version":"1"}\n\ndata: {"error":"no second answer"}\n\n',
  },
  { facts: ['7/stream-none'], name: 'no answer', transport: 'http', server: 'python', call: call('several', 'generate_stream', { IN: 0 }), status: 200, body: '' },
]
