/** The checks of an ensemble against its composing models, text by text, as section 11 of the model config facts gives them. */
import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../contract/model-config.ts'
import { refuseFirst } from './config-problem.ts'
import { normalizeModelConfig } from './normalize.ts'
import { readModelConfig } from './read-config.ts'
import { isDecoupledEnsemble, validateEnsembleAgainstMembers } from './validate-ensemble-members.ts'
import type { EnsembleMember, EnsembleMembers } from './validate-ensemble-members.ts'

function config(name: string, text: string): ModelConfig {
  return normalizeModelConfig({ ...readModelConfig(text, name), name })
}

function member(name: string, text: string, rest: Partial<EnsembleMember> = {}): [string, EnsembleMember] {
  return [name, { config: config(name, text), versions: [1, 2], ...rest }]
}

const tensor = (name: string, dims = '[ 3 ]', type = 'TYPE_FP32', rest = ''): string => `{ name: "${name}" data_type: ${type} dims: ${dims} ${rest} }`
const model = (input: string, output: string, rest = 'max_batch_size: 4'): string => `backend: "custom" ${rest} input [ ${input} ] output [ ${output} ]`
const PLAIN = model(tensor('I'), tensor('O'))
const step = (name: string, input: string, output: string, version = -1): string =>
  `step { model_name: "${name}" model_version: ${version} ${input.split(' ').map((pair) => `input_map { key: "${pair.split('=')[0]}" value: "${pair.split('=')[1]}" }`).join(' ')} `
  + `${output.split(' ').map((pair) => `output_map { key: "${pair.split('=')[0]}" value: "${pair.split('=')[1]}" }`).join(' ')} }`
const ensemble = (steps: string, ends = `input ${tensor('A')} output ${tensor('Z')}`, maxBatchSize = 4): string =>
  `platform: "ensemble" max_batch_size: ${maxBatchSize} ${ends} ensemble_scheduling { ${steps} }`
const CHAIN = ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z'))
const DECOUPLED = 'max_batch_size: 4 model_transaction_policy { decoupled: true }'

interface Case {
  readonly text: string
  readonly ensemble: string
  readonly members: EnsembleMembers
}

function row(text: string, ensembleText: string, ...members: readonly [string, EnsembleMember][]): Case {
  return { text, ensemble: ensembleText, members: new Map(members) }
}

const CASES: readonly Case[] = [
  row('circular dependency between ensembles: m -> a -> x -> m', CHAIN, member('a', ensemble(step('x', 'I=A', 'O=Z'))), member('b', PLAIN), member('x', ensemble(step('m', 'I=A', 'O=Z')))),
  row('circular dependency between ensembles: m -> m', ensemble(step('m', 'A=A', 'Z=Z'))),
  row('ensemble m contains models that are not available or ambiguous: a, b', CHAIN),
  row('ensemble \'m\' depends on \'b\' which is not valid. Model \'b\' failed with error: bad config', CHAIN, member('a', PLAIN), member('b', PLAIN, { invalidReason: 'bad config' })),
  row('ensemble \'m\' depends on \'b\' which has no loaded version.', CHAIN, member('a', PLAIN), member('b', PLAIN, { versions: [] })),
  row('ensemble \'m\' depends on \'b\' which has no loaded version. Model \'b\' loading failed with error: out of memory', CHAIN, member('a', PLAIN),
    member('b', PLAIN, { versions: [], loadError: 'out of memory' })),
  row('ensemble \'m\' depends on \'b\' whose required version 7 is not loaded.', ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z', 7)), member('a', PLAIN), member('b', PLAIN)),
  row('ensemble \'m\' depends on \'b\' whose required version 0 is not loaded.', ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=B', 'O=Z', 0)), member('a', PLAIN), member('b', PLAIN)),
  row('ensemble m allows maximum batch size 8, but it contains model b which only allows maximum batch size to be 4', ensemble(step('b', 'I=A', 'O=Z'), undefined, 8), member('b', PLAIN)),
  row('in ensemble m, ensemble tensor A is mapping to non-existing input X in model b', ensemble(step('b', 'X=A', 'O=Z')), member('b', PLAIN)),
  row('in ensemble m, input J in model b is not mapped to any ensemble tensors', ensemble(step('b', 'I=A', 'O=Z')), member('b', model(`${tensor('I')}, ${tensor('J')}`, tensor('O')))),
  row('in ensemble m, ensemble tensor Z is mapped from non-existing output X in model b', ensemble(step('b', 'I=A', 'X=Z')), member('b', PLAIN)),
  row('in ensemble m, multiple outputs in model b are mapped to the same ensemble tensor Z', ensemble(step('b', 'I=A', 'O=Z')), member('b', model(tensor('I'), `${tensor('O')}, ${tensor('O')}`))),
  row('in ensemble m, ensemble tensor B: inconsistent data type: TYPE_FP32 is inferred from model a while TYPE_INT32 is inferred from model b', CHAIN, member('a', PLAIN),
    member('b', model(tensor('I', '[ 3 ]', 'TYPE_INT32'), tensor('O')))),
  row('in ensemble m, ensemble tensor B: inconsistent shape: [-1,16] is inferred from model a while [-1,8] is inferred from model b', CHAIN,
    member('a', model(tensor('I'), tensor('O', '[ 16 ]'))), member('b', model(tensor('I', '[ 8 ]'), tensor('O')))),
  row('in ensemble m, ensemble tensor Z: inconsistent shape: [-1,3] is inferred from model m while [4] is inferred from model b', ensemble(step('b', 'I=A', 'O=Z')),
    member('b', model(tensor('I', '[ -1, 3 ]'), tensor('O', '[ 4 ]'), ''))),
  row('in ensemble m, step of model \'c\' receives inputs originated from different decoupled models',
    ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=A', 'O=C') + step('c', 'I=B J=C', 'O=Z')),
    member('a', model(tensor('I'), tensor('O'), DECOUPLED)), member('b', model(tensor('I'), tensor('O'), DECOUPLED)), member('c', model(`${tensor('I')}, ${tensor('J')}`, tensor('O')))),
  // What comes straight from the ensemble's input is no stream of the decoupled model either.
  row('in ensemble m, step of model \'c\' receives inputs originated from different decoupled models',
    ensemble(step('a', 'I=A', 'O=B') + step('c', 'I=B J=A', 'O=Z')),
    member('a', model(tensor('I'), tensor('O'), DECOUPLED)), member('c', model(`${tensor('I')}, ${tensor('J')}`, tensor('O')))),
  row('in ensemble m, step of model \'m\' receives inputs originated from different decoupled models',
    ensemble(step('a', 'I=A', 'O=B') + step('b', 'I=A', 'O=Z'), `input ${tensor('A')} output [ ${tensor('B')}, ${tensor('Z')} ]`),
    member('a', model(tensor('I'), tensor('O'), DECOUPLED)), member('b', PLAIN)),
]

describe('an ensemble against its composing models', () => {
  test.each(CASES)('$text', (item) => {
    const texts = [...validateEnsembleAgainstMembers(config('m', item.ensemble), item.members)].map(({ text }) => text)
    expect(texts[0]).toBe(item.text)
    expect(() => { refuseFirst(validateEnsembleAgainstMembers(config('m', item.ensemble), item.members)) })
      .toThrow(expect.objectContaining({ kind: 'INVALID_ARG', message: item.text }) as Error)
  })

  test.each([
    ['a chain', CHAIN, [member('a', PLAIN), member('b', PLAIN)]],
    ['a named version that is there', ensemble(step('b', 'I=A', 'O=Z', 2)), [member('b', PLAIN)]],
    ['version 0 where there is one', ensemble(step('b', 'I=A', 'O=Z', 0)), [member('b', PLAIN, { versions: [0] })]],
    ['a model without batching in a batching ensemble, in full shape', ensemble(step('b', 'I=A', 'O=Z')), [member('b', model(tensor('I', '[ -1, 3 ]'), tensor('O', '[ -1, 3 ]'), ''))]],
    ['a model without batching in a batching ensemble, in the same dims', ensemble(step('b', 'I=A', 'O=Z')), [member('b', model(tensor('I'), tensor('O'), ''))]],
    ['-1 against a size, on either side', CHAIN, [member('a', model(tensor('I', '[ -1 ]'), tensor('O', '[ -1 ]'))), member('b', PLAIN)]],
    ['an optional input left out', ensemble(step('b', 'I=A', 'O=Z')), [member('b', model(`${tensor('I')}, ${tensor('J', '[ 3 ]', 'TYPE_FP32', 'optional: true')}`, tensor('O')))]],
    ['the shape that the ensemble gives its input by reshape', ensemble(step('b', 'I=A', 'O=Z'), `input ${tensor('A', '[ 3 ]', 'TYPE_FP32', 'reshape { shape: [ 3, 1 ] }')} output ${tensor('Z')}`),
      [member('b', model(tensor('I', '[ 3, 1 ]'), tensor('O')))]],
    ['two steps that follow one decoupled model', ensemble(step('a', 'I=A', 'O=B P=C') + step('c', 'I=B J=C', 'O=Z')),
      [member('a', model(tensor('I'), `${tensor('O')}, ${tensor('P')}`, DECOUPLED)), member('c', model(`${tensor('I')}, ${tensor('J')}`, tensor('O')))]],
    ['members that are not known', CHAIN, [['a', { config: null, versions: null }], ['b', { config: null, versions: null }]]],
    ['a diamond of ensembles without a cycle', CHAIN, [member('a', `${ensemble(step('x', 'I=A', 'O=Z')).replaceAll('"A"', '"I"').replaceAll('"Z"', '"O"')}`), member('b', PLAIN), member('x', PLAIN)]],
    ['a config that is no ensemble', PLAIN, []],
  ] satisfies [string, string, [string, EnsembleMember][]][])('accepts %s', (_name, text, members) => {
    expect([...validateEnsembleAgainstMembers(config('m', text), new Map(members))]).toEqual([])
  })

  test('is decoupled where a step is', () => {
    const members = (policy: string): EnsembleMembers => new Map([member('a', PLAIN), member('b', model(tensor('I'), tensor('O'), policy))])
    expect(isDecoupledEnsemble(config('m', CHAIN), members(DECOUPLED))).toBe(true)
    expect(isDecoupledEnsemble(config('m', CHAIN), members('max_batch_size: 4'))).toBe(false)
  })
})
