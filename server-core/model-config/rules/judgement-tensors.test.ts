/** The rules about the model file and the loader are of one opinion: what it refuses they report, and what they repair it accepts. */
import { describe, expect, it } from 'vitest'
import type { ConfigContext, FileTensor } from '../../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../contract/config-language.ts'
import { applyPreferredFixes } from '../apply-fixes.ts'
import { completeFromOnnx } from '../auto-complete.ts'
import { checkConfig } from '../check-config.ts'
import type { OnnxTensor } from '../onnx-signature.ts'
import { readModelConfig } from '../read-config.ts'
import { TENSOR_RULES } from './judgement-tensors.ts'

/** A small generator of repeatable random numbers (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const TYPES = ['FP32', 'INT64', 'BYTES'] as const
const CONFIG_TYPES = ['TYPE_FP32', 'TYPE_INT64', 'TYPE_STRING', 'TYPE_INVALID'] as const
const CODES = new Set(TENSOR_RULES.flatMap(({ codes }) => codes))

interface Sample {
  readonly text: string
  readonly context: ConfigContext
  readonly signature: { readonly inputs: readonly OnnxTensor[]; readonly outputs: readonly OnnxTensor[] }
}

function sample(seed: number): Sample {
  const random = randomNumbers(seed)
  const isBatching = random(3) > 0
  const fileTensors = (prefix: string): OnnxTensor[] => Array.from({ length: 1 + random(3) }, (_none, index) => {
    const datatype = TYPES[random(TYPES.length)] ?? 'FP32'
    const dims = [isBatching && random(12) > 0 ? 'batch' : 1 + random(3), ...Array.from({ length: random(3) }, () => (random(4) === 0 ? -1 : 1 + random(4)))]
    const isScalar = random(15) === 0
    return { name: `${prefix}${index}`, kind: 'tensor', elementType: datatype, datatype, dims: isScalar ? [] : dims, hasShape: isScalar || random(12) > 0 }
  }).map((tensor): OnnxTensor => ({ ...tensor, kind: 'tensor', dims: tensor.hasShape ? tensor.dims : [] }))
  const signature = { inputs: fileTensors('IN'), outputs: fileTensors('OUT') }
  const maxBatchSize = random(2) === 0 ? 0 : 1 + random(8)
  const entries = (role: 'input' | 'output', tensors: readonly OnnxTensor[]): string => {
    if (random(8) === 0) return ''
    const written = tensors.filter(() => random(10) > 0).map((tensor) => {
      const dims = tensor.dims.slice(maxBatchSize > 0 && random(5) > 0 ? 1 : 0).map((dim) => (typeof dim === 'string' ? -1 : random(12) === 0 ? 7 : dim))
      const type = random(10) === 0 ? CONFIG_TYPES[random(4)] : `TYPE_${tensor.datatype === 'BYTES' ? 'STRING' : tensor.datatype}`
      const name = random(10) === 0 ? `${tensor.name}x` : tensor.name
      return `{ name: "${name}" data_type: ${type ?? ''} dims: [ ${(dims.length === 0 ? [1] : dims).join(', ')} ]`
        + `${random(15) === 0 && role === 'input' ? ' optional: true' : ''}${dims.length === 0 && maxBatchSize > 0 && random(3) > 0 ? ' reshape { shape: [ ] }' : ''} }`
    })
    if (random(15) === 0 && written[0] !== undefined) written.push(written[0])
    return written.length === 0 ? '' : `${role} [ ${written.join(',\n  ')} ]\n`
  }
  const text = `backend: "onnxruntime"\n${maxBatchSize === 0 ? '' : `max_batch_size: ${maxBatchSize}\n`}${entries('input', signature.inputs)}${entries('output', signature.outputs)}`
    + (random(4) === 0 ? 'dynamic_batching { }\n' : '')
  const fileTensor = ({ name, datatype, elementType, dims, hasShape }: OnnxTensor): FileTensor =>
    ({ name, datatype, elementType, shape: dims, ...(hasShape ? {} : { hasUnknownRank: true }) })
  const context = {
    ...EMPTY_CONFIG_CONTEXT, modelName: 'm',
    versions: [{ version: 1, files: ['model.onnx'], signature: { inputs: signature.inputs.map(fileTensor), outputs: signature.outputs.map(fileTensor) } }],
  }
  return { text, context, signature }
}

function refusal({ signature }: Sample, text: string): string | null {
  try {
    completeFromOnnx({ ...readModelConfig(text, 'm'), name: 'm' }, signature, { defaultMaxBatchSize: 4 })
    return null
  } catch (error) {
    return (error as Error).message
  }
}

const SAMPLES = Array.from({ length: 500 }, (_none, index) => sample(index + 1))

describe('tensors against the model file', () => {
  it('reports an error exactly where the loader refuses', () => {
    let refused = 0
    for (const item of SAMPLES) {
      const errors = checkConfig(item.text, item.context).filter(({ code, severity }) => severity === 'error' && CODES.has(code))
      const text = refusal(item, item.text)
      if (text !== null) refused++
      expect(errors.length > 0, `${text ?? 'accepted'}\n${item.text}\n${JSON.stringify(item.signature)}\n${errors.map(({ code }) => code).join()}`).toBe(text !== null)
    }
    // Both kinds came up.
    expect(refused).toBeGreaterThan(150)
    expect(SAMPLES.length - refused).toBeGreaterThan(50)
  })

  it('repairs by fixes alone what the loader refused', () => {
    for (const item of SAMPLES) {
      if (refusal(item, item.text) === null) continue
      const repaired = applyPreferredFixes(item.text, item.context).text
      expect(refusal(item, repaired), `${item.text}\n---\n${repaired}\n${JSON.stringify(item.signature)}`).toBeNull()
    }
  })
})
