import { describe, expect, it } from 'vitest'
import { BINARY_FORM } from './infer-request.ts'
import { inferResponseBody } from './infer-response.ts'
import { measureJson } from './json-answer.ts'
import { printed } from './json-writer.ts'

const call = { request: { modelName: 'm', modelVersion: '', id: '', inputs: [], requestedOutputs: [], parameters: {} }, outputForms: new Map(), defaultForm: BINARY_FORM }

describe('the body of an answer', () => {
  it.each(['OUT', '输出', 'é'])('counts bytes, not characters: %s', async (name) => {
    const data = Uint8Array.of(0, 128, 255)
    const { json, binaries, binaryLength } = inferResponseBody(call, new Map(), { modelName: 'm', modelVersion: '1', id: '', parameters: {}, outputs: [{ name, datatype: 'UINT8', shape: [3], data }] })
    const { pieces, length: jsonLength } = await measureJson(json)
    const body = Buffer.concat([...pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece, 'latin1') : printed(piece))), ...binaries])
    expect(body.byteLength).toBe(jsonLength + binaryLength)
    expect(JSON.parse(body.toString('utf8', 0, jsonLength))).toEqual({
      model_name: 'm', model_version: '1', outputs: [{ name, datatype: 'UINT8', shape: [3], parameters: { binary_data_size: 3 } }],
    })
    expect([...body.subarray(jsonLength)]).toEqual([...data])
  })
})
