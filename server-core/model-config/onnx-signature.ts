/**
 * Reads what an ONNX file says about itself (opsets, inputs, outputs) without a runtime. Own minimal protobuf reader: it walks the file
 * by positions and passes over weights and nodes without loading them, so a 2 GB model costs kilobytes.
 */
import { open } from 'node:fs/promises'
import { ServerError, toServerError } from '../server-error.ts'
import { ONNX_ELEMENT_TYPES } from './onnx-element-types.ts'
import type { OnnxSignature, OnnxTensor } from './onnx-model.ts'
import { readFileInParts, readFromMemory } from './protobuf-walker.ts'
import type { ProtobufWalker, Walk, WireField } from './protobuf-walker.ts'

export type { OnnxSignature, OnnxTensor } from './onnx-model.ts'

/** @throws ServerError NOT_FOUND when there is no file, INVALID_ARG when it is no ONNX model or cut off */
export async function readOnnxSignature(path: string): Promise<OnnxSignature> {
  try {
    await using file = await open(path, 'r')
    return await readFileInParts(file, readModel)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new ServerError('NOT_FOUND', `There is no file '${path}'.`, { cause: error })
    }
    const { kind, message } = toServerError(error)
    throw new ServerError(kind, `Cannot read the ONNX model '${path}': ${message}`, { cause: error })
  }
}

/** @throws ServerError INVALID_ARG when the bytes are no ONNX model */
export function readOnnxSignatureFromBytes(data: Uint8Array): OnnxSignature {
  return readFromMemory(data, readModel)
}

function notOnnx(why: string): never {
  throw new ServerError('INVALID_ARG', `The file is not an ONNX model: ${why}.`)
}

interface GraphParts {
  readonly inputs: OnnxTensor[]
  readonly outputs: OnnxTensor[]
  readonly initializers: Set<string>
  readonly externalDataFiles: Set<string>
  name: string
}

function* readModel(walker: ProtobufWalker): Walk<OnnxSignature> {
  if (walker.size === 0) notOnnx('it is empty')
  let irVersion = 0
  let producerName = ''
  let producerVersion = ''
  let hasGraph = false
  const opsetImports: { domain: string; version: number }[] = []
  const graph: GraphParts = { inputs: [], outputs: [], initializers: new Set(), externalDataFiles: new Set(), name: '' }
  yield* walker.fields(0, walker.size, function* (field) {
    switch (field.number) {
      case 1: irVersion = integer(field); break
      case 2: producerName = yield* walker.text(field); break
      case 3: producerVersion = yield* walker.text(field); break
      case 7: hasGraph = true; yield* readGraph(walker, bytes(field), graph); break
      case 8: opsetImports.push(yield* readOpset(walker, bytes(field))); break
      default:
    }
  })
  if (irVersion === 0 && !hasGraph) notOnnx('it has neither an IR version nor a graph')
  if (!hasGraph) notOnnx('it has no graph')
  return {
    irVersion,
    opset: opsetImports.find(({ domain }) => domain === '' || domain === 'ai.onnx')?.version ?? null,
    opsetImports,
    producerName,
    producerVersion,
    graphName: graph.name,
    inputs: graph.inputs.filter((input) => !graph.initializers.has(input.name)),
    outputs: graph.outputs,
    externalDataFiles: [...graph.externalDataFiles],
  }
}

function* readOpset(walker: ProtobufWalker, parent: WireField): Walk<{ domain: string; version: number }> {
  let domain = ''
  let version = 0
  yield* walker.fields(parent.start, parent.end, function* (field) {
    if (field.number === 1) domain = yield* walker.text(field)
    else if (field.number === 2) version = integer(field)
  })
  return { domain, version }
}

function* readGraph(walker: ProtobufWalker, parent: WireField, graph: GraphParts): Walk<void> {
  yield* walker.fields(parent.start, parent.end, function* (field) {
    switch (field.number) {
      case 2: graph.name = yield* walker.text(field); break
      case 5: yield* readInitializer(walker, bytes(field), graph); break
      case 11: graph.inputs.push(yield* readValueInfo(walker, bytes(field))); break
      case 12: graph.outputs.push(yield* readValueInfo(walker, bytes(field))); break
      case 15: yield* readSparseInitializer(walker, bytes(field), graph); break
      default: // nodes, value infos: passed over
    }
  })
}

/** Name and external files of a TensorProto; its data is passed over. */
function* readInitializer(walker: ProtobufWalker, parent: WireField, graph: GraphParts): Walk<void> {
  yield* walker.fields(parent.start, parent.end, function* (field) {
    if (field.number === 8) graph.initializers.add(yield* walker.text(field))
    else if (field.number === 13) {
      let key = ''
      let value = ''
      yield* walker.fields(bytes(field).start, field.end, function* (entry) {
        if (entry.number === 1) key = yield* walker.text(entry)
        else if (entry.number === 2) value = yield* walker.text(entry)
      })
      if (key === 'location') graph.externalDataFiles.add(value)
    }
  })
}

function* readSparseInitializer(walker: ProtobufWalker, parent: WireField, graph: GraphParts): Walk<void> {
  yield* walker.fields(parent.start, parent.end, function* (field) {
    if (field.number === 1) yield* readInitializer(walker, bytes(field), graph)
  })
}

function* readValueInfo(walker: ProtobufWalker, parent: WireField): Walk<OnnxTensor> {
  let name = ''
  let type: Omit<OnnxTensor, 'name'> = { kind: 'unknown', elementType: 'UNDEFINED', datatype: null, dims: [], hasShape: false }
  yield* walker.fields(parent.start, parent.end, function* (field) {
    if (field.number === 1) name = yield* walker.text(field)
    else if (field.number === 2) type = yield* readType(walker, bytes(field))
  })
  return { name, ...type }
}

const TYPE_KINDS: Readonly<Record<number, OnnxTensor['kind']>> = { 1: 'tensor', 4: 'sequence', 5: 'map', 8: 'sparse_tensor', 9: 'optional' }

function* readType(walker: ProtobufWalker, parent: WireField): Walk<Omit<OnnxTensor, 'name'>> {
  let kind = 'unknown' as OnnxTensor['kind']
  let element = 0
  let hasShape = false
  const dims: (number | string)[] = []
  yield* walker.fields(parent.start, parent.end, function* (field) {
    kind = TYPE_KINDS[field.number] ?? kind
    if (field.number !== 1) return
    yield* walker.fields(bytes(field).start, field.end, function* (part) {
      if (part.number === 1) element = integer(part)
      else if (part.number === 2) {
        hasShape = true
        yield* walker.fields(bytes(part).start, part.end, function* (dim) {
          if (dim.number === 1) dims.push(yield* readDim(walker, bytes(dim)))
        })
      }
    })
  })
  const row = ONNX_ELEMENT_TYPES[element] ?? { name: `type ${element}`, datatype: null }
  return { kind, elementType: row.name, datatype: kind === 'tensor' ? row.datatype : null, dims, hasShape }
}

function* readDim(walker: ProtobufWalker, parent: WireField): Walk<number | string> {
  let dim: number | string = -1
  yield* walker.fields(parent.start, parent.end, function* (field) {
    if (field.number === 1) dim = integer(field)
    else if (field.number === 2) {
      const symbol = yield* walker.text(field)
      dim = symbol === '' ? -1 : symbol
    }
  })
  return dim
}

function integer(field: WireField): number {
  if (field.wireType !== 0) notOnnx(`field ${field.number} at byte ${field.start} has the wrong type`)
  return Number(BigInt.asIntN(64, field.value))
}

function bytes(field: WireField): WireField {
  if (field.wireType !== 2) notOnnx(`field ${field.number} at byte ${field.start} has the wrong type`)
  return field
}
