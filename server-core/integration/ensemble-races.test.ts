/** Loads, unloads and changed files of ensembles and their models, many at the same time, while requests come in. */
import { describe, expect, it } from 'vitest'
import { randomNumbers } from '../testing/random-numbers.ts'
import { identityConfig, TemporaryRepository } from '../testing/temporary-repository.ts'
import { createTestServer, floatsOf, fp32, requestOf } from '../testing/test-server.ts'

const tensorText = (name: string) => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 4 ] }`
const pass = (model: string, from: string, to: string, isEnsemble: boolean) => `step { model_name: "${model}" model_version: -1
  input_map { key: "${isEnsemble ? 'IN' : 'INPUT0'}" value: "${from}" } output_map { key: "${isEnsemble ? 'OUT' : 'OUTPUT0'}" value: "${to}" } }`
const ensembleText = (steps: string, tag: string) => `platform: "ensemble" max_batch_size: 2 input ${tensorText('IN')} output ${tensorText('OUT')} ensemble_scheduling { ${steps} } metric_tags { key: "t" value: "${tag}" }`

const CONFIGS: Readonly<Record<string, (tag: string) => string>> = {
  a: (tag) => identityConfig(`metric_tags { key: "t" value: "${tag}" }`),
  b: (tag) => identityConfig(`metric_tags { key: "t" value: "${tag}" } parameters { key: "execute_delay_ms" value: { string_value: "1" } }`),
  e: (tag) => ensembleText(pass('a', 'IN', 'OUT', false), tag),
  f: (tag) => ensembleText(pass('e', 'IN', 'T', true) + pass('b', 'T', 'OUT', false), tag),
}
const NAMES = Object.keys(CONFIGS)
const MEMBERS: Readonly<Record<string, readonly string[]>> = { e: ['a'], f: ['e', 'b'] }

describe('ensembles under concurrent changes', () => {
  it('never serve without their models, and every request that was taken is answered', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const random = randomNumbers(seed)
      const pick = () => NAMES[random(NAMES.length)] as string
      await using repository = await TemporaryRepository.create(Object.fromEntries(NAMES.flatMap((name) => [[`${name}/config.pbtxt`, CONFIGS[name]?.('0') ?? ''], [`${name}/1/keep`, '']])))
      await using test = createTestServer([repository.path], { loadModels: ['f'] })
      const { server } = test
      await server.start()
      const unexpected: string[] = []
      let writing = Promise.resolve()
      const ask = async (name: string): Promise<void> => {
        const request = MEMBERS[name] === undefined ? fp32('INPUT0', [1, 4], [1, 2, 3, 4]) : fp32('IN', [1, 4], [1, 2, 3, 4])
        try {
          const { response } = await server.infer(requestOf(name, [request]))
          if (floatsOf(response.outputs[0]).join() !== '1,2,3,4') unexpected.push('a wrong answer')
        } catch (error) {
          const { message } = error as Error
          if (!message.startsWith(`Request for unknown model: '${name}'`)) unexpected.push(message)
        }
      }
      for (let round = 0; round < 4; round++) {
        const work = Array.from({ length: 6 }, async (_unused, index) => {
          const name = pick()
          const kind = random(5)
          // The operations meet each other at different places.
          for (let turn = random(4); turn > 0; turn--) await new Promise((resolve) => { setImmediate(resolve) })
          if (kind === 0) await server.unloadModel(name)
          else if (kind === 1) await server.unloadModel(name, true)
          else {
            if (kind === 2) {
              // One writer at a time: two in one file would leave a mixture.
              writing = writing.then(() => repository.write({ [`${name}/config.pbtxt`]: CONFIGS[name]?.(`${round}-${index}`) ?? '' }))
              await writing
            }
            // A load that was out-dated or overtaken by an unload of a model fails, which is no mistake.
            await server.loadModel(name).catch(() => {})
          }
          await Promise.all([ask('e'), ask('f')])
        })
        await Promise.all(work)
        const ready = new Set(server.repositoryIndex(true).map(({ name }) => name))
        for (const [ensemble, members] of Object.entries(MEMBERS)) {
          if (ready.has(ensemble)) expect(members.filter((member) => !ready.has(member)), `seed ${seed}, round ${round}: ${ensemble} serves without`).toEqual([])
        }
        for (const name of ready) await ask(name)
        expect(unexpected, `seed ${seed}, round ${round}`).toEqual([])
      }
      await server.loadModel('f')
      expect(server.repositoryIndex(true).map(({ name }) => name).toSorted()).toEqual(NAMES)
      await ask('f')
      expect(unexpected, `seed ${seed}`).toEqual([])
    }
  })
})
