import { describe, expect, it } from 'vitest'
import type { Tensor } from '../../contract/inference.ts'
import { LogHub } from '../../logger.ts'
import { normalizeModelConfig } from '../../model-config/normalize.ts'
import { readModelConfig } from '../../model-config/read-config.ts'
import { InflightRequest, type RequestOutcome } from '../../scheduling/inflight-request.ts'
import { identityBackend } from './identity-backend.ts'

const CONFIG = 'backend: "identity" input { name: "INPUT0" data_type: TYPE_UINT8 dims: [ -1 ] } output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }'

async function outputOf(data: Uint8Array): Promise<Tensor | undefined> {
  const config = normalizeModelConfig({ ...readModelConfig(CONFIG, 'config.pbtxt'), name: 'm' })
  const model = await identityBackend.initializeModel({
    backendConfig: {}, log: new LogHub().logger('test'), modelName: 'm', modelVersion: 1, modelDirectory: '', versionDirectory: '', config, autoComplete: true,
  })
  const instance = await model.initializeInstance({ name: 'm_0', index: 0, kind: 'KIND_CPU', deviceId: 0 })
  let outcome: RequestOutcome | undefined
  const request = new InflightRequest({
    id: '', inputs: [{ name: 'INPUT0', datatype: 'UINT8', shape: [data.length], data }], requestedOutputs: ['OUTPUT0'], parameters: {}, batchSize: 1, requestStart: 0, queueStart: 0,
    timeoutMicroseconds: 0, isDecoupled: false, onSettled: (settled) => { outcome = settled },
  })
  request.markExecuting()
  request.settleExecution(await instance.execute([request]), 1, null)
  return outcome?.kind === 'response' ? outcome.outputs?.[0] : undefined
}

describe('identity backend', () => {
  it('answers with a copy of its own', async () => {
    const input = Uint8Array.of(1, 2, 3)
    const output = await outputOf(input)
    input.fill(0)
    expect(output).toEqual({ name: 'OUTPUT0', datatype: 'UINT8', shape: [3], data: Uint8Array.of(1, 2, 3) })
  })

  it('says of a large copy that it may be given back when it is written', async () => {
    const output = await outputOf(new Uint8Array(100_000).fill(7))
    expect(output).toMatchObject({ isExclusive: true })
    expect(output?.data.every((value) => value === 7)).toBe(true)
  })
})
