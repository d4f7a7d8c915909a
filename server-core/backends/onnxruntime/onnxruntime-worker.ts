/**
 * The thread of one model instance: holds one ONNX Runtime session and runs one batch at a time (`session.run` blocks its thread).
 * Started by `OnnxRuntimeInstance`; speaks only `worker-messages.ts`.
 */
import { parentPort, threadName, workerData } from 'node:worker_threads'
import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import { steadyNanoseconds } from '../../clock.ts'
import type { DataType } from '../../contract/inference.ts'
import { nameCurrentThread } from '../native-addon.ts'
import { bindCurrentThread } from '../thread-affinity.ts'
import { decodeStrings, encodeStrings } from './string-tensor.ts'
import type { FromWorker, ToWorker, WorkerData, WorkerTensor } from './worker-messages.ts'

type NumericDataType = Exclude<DataType, 'BYTES' | 'BF16'>

const NUMERIC_TYPES: Readonly<Record<NumericDataType, { readonly ortType: string; readonly view: new (buffer: ArrayBuffer) => ArrayBufferView }>> = {
  BOOL: { ortType: 'bool', view: Uint8Array },
  UINT8: { ortType: 'uint8', view: Uint8Array },
  UINT16: { ortType: 'uint16', view: Uint16Array },
  UINT32: { ortType: 'uint32', view: Uint32Array },
  UINT64: { ortType: 'uint64', view: BigUint64Array },
  INT8: { ortType: 'int8', view: Int8Array },
  INT16: { ortType: 'int16', view: Int16Array },
  INT32: { ortType: 'int32', view: Int32Array },
  INT64: { ortType: 'int64', view: BigInt64Array },
  FP16: { ortType: 'float16', view: Uint16Array },
  FP32: { ortType: 'float32', view: Float32Array },
  FP64: { ortType: 'float64', view: Float64Array },
}

const DATA_TYPE_OF = new Map<string, DataType>([
  ...(Object.keys(NUMERIC_TYPES) as NumericDataType[]).map((name): [string, DataType] => [NUMERIC_TYPES[name].ortType, name]),
  ['string', 'BYTES'],
])

/** @param scalars inputs of rank 0: a config cannot say that, so they come with one dimension of 1 */
function toOrtTensor(tensor: WorkerTensor, scalars: ReadonlySet<string>): Tensor {
  const dims = scalars.has(tensor.name) && tensor.dims.length === 1 && tensor.dims[0] === 1 ? [] : tensor.dims
  if (tensor.datatype === 'BYTES') return new Tensor('string', decodeStrings(tensor.data), dims)
  if (tensor.datatype === 'BF16') throw new Error(`input '${tensor.name}': BF16 tensors are not supported by this ONNX Runtime binding`)
  const { ortType, view } = NUMERIC_TYPES[tensor.datatype]
  return new Tensor(ortType as 'float32', new view(tensor.data) as Float32Array, dims)
}

function fromOrtTensor(name: string, tensor: Tensor): WorkerTensor {
  const datatype = DATA_TYPE_OF.get(tensor.type)
  if (datatype === undefined) throw new Error(`output '${name}' has the type ${tensor.type}, which the protocol does not know`)
  if (datatype === 'BYTES') return { name, datatype, dims: tensor.dims, data: encodeStrings(tensor.data as string[]) }
  const values = tensor.data as Uint8Array
  const isWhole = values.byteOffset === 0 && values.byteLength === values.buffer.byteLength
  const data = isWhole ? values.buffer : values.buffer.slice(values.byteOffset, values.byteOffset + values.byteLength)
  return { name, datatype, dims: tensor.dims, data: data as ArrayBuffer }
}

// Node-API of Node 24 does not know Float16Array: onnxruntime-node would read it as empty. Without the global it takes Uint16Array.
Reflect.deleteProperty(globalThis, 'Float16Array')

function workerPort(): NonNullable<typeof parentPort> {
  if (parentPort === null) throw new Error('onnxruntime-worker is a worker thread, not a program')
  return parentPort
}

const port = workerPort()
nameCurrentThread(threadName ?? 'onnxruntime')
const { modelPath, settings, logLevel, hostPolicy } = workerData as WorkerData

const answer = (message: FromWorker, transfer: readonly ArrayBuffer[] = []) => { port.postMessage(message, transfer) }
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

async function run(session: InferenceSession, scalars: ReadonlySet<string>, inputs: readonly WorkerTensor[], outputNames: readonly string[]): Promise<void> {
  try {
    const feeds = Object.fromEntries(inputs.map((input) => [input.name, toOrtTensor(input, scalars)]))
    const computeStart = steadyNanoseconds()
    const results = await session.run(feeds, outputNames)
    const computeEnd = steadyNanoseconds()
    const outputs = outputNames.map((name) => {
      const tensor = results[name]
      if (tensor === undefined) throw new Error(`the model gave no output '${name}'`)
      return fromOrtTensor(name, tensor)
    })
    answer({ kind: 'ran', outputs, computeStart, computeEnd }, [...new Set(outputs.map((output) => output.data))])
  } catch (error) {
    answer({ kind: 'runFailed', message: messageOf(error) })
  }
}

/** Before the session makes threads of its own: they inherit it. */
function bind(): boolean {
  try {
    if (hostPolicy !== null) bindCurrentThread(hostPolicy)
    return true
  } catch (error) {
    answer({ kind: 'bindFailed', message: messageOf(error) })
    return false
  }
}

async function serve(): Promise<void> {
  env.logLevel = logLevel
  const session = await InferenceSession.create(modelPath, { ...settings, logSeverityLevel: logLevel === 'warning' ? 2 : 4 })
  const scalars = new Set(session.inputMetadata.flatMap((input) => (input.isTensor && input.shape.length === 0 ? [input.name] : [])))
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'run') {
      void run(session, scalars, message.inputs, message.outputNames)
      return
    }
    void session.release().finally(() => {
      answer({ kind: 'closed' })
      port.close()
    })
  })
  answer({ kind: 'ready' })
}

if (bind()) await serve().catch((error: unknown) => { answer({ kind: 'loadFailed', message: messageOf(error) }) })
