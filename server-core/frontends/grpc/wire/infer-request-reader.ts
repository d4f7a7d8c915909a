/**
 * ModelInferRequest from its bytes (protocol 9.1). Written by hand because it is the message that carries the tensors: raw contents and typed contents
 * stay views of the bytes that came in, nothing is copied or boxed.
 */
import { ProtobufReader } from './protobuf-reader.ts'
import type { WireInferRequest, WireInput, WireParameter, WireParameters, WireRequestedOutput } from './wire-types.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** `number << 3 | wire type`; a known number with another wire type is an unknown field, as everywhere in protobuf. */
const bytesField = (number: number) => number << 3 | 2
const numberField = (number: number) => number << 3
const fixed64Field = (number: number) => number << 3 | 1

const REQUEST = { modelName: bytesField(1), modelVersion: bytesField(2), id: bytesField(3), parameters: bytesField(4), inputs: bytesField(5), outputs: bytesField(6), raw: bytesField(7) }
const INPUT = { name: bytesField(1), datatype: bytesField(2), shape: numberField(3), packedShape: bytesField(3), parameters: bytesField(4), contents: bytesField(5) }
const OUTPUT = { name: bytesField(1), parameters: bytesField(2) }
const ENTRY = { key: bytesField(1), value: bytesField(2) }
const PARAMETER = { bool: numberField(1), int64: numberField(2), string: bytesField(3), double: fixed64Field(4), uint64: numberField(5) }

/** @throws ProtobufError */
export function readInferRequestMessage(bytes: Buffer): WireInferRequest {
  const reader = new ProtobufReader(bytes)
  const inputs: WireInput[] = []
  const outputs: WireRequestedOutput[] = []
  const raw: Buffer[] = []
  const parameters = emptyParameters()
  let modelName = ''
  let modelVersion = ''
  let id = ''
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case REQUEST.modelName: modelName = reader.text(); break
      case REQUEST.modelVersion: modelVersion = reader.text(); break
      case REQUEST.id: id = reader.text(); break
      case REQUEST.parameters: readParameter(reader.bytes(), parameters); break
      case REQUEST.inputs: inputs.push(readInput(reader.bytes())); break
      case REQUEST.outputs: outputs.push(readOutput(reader.bytes())); break
      case REQUEST.raw: raw.push(reader.bytes()); break
      default: reader.skip(tag)
    }
  }
  return { model_name: modelName, model_version: modelVersion, id, parameters, inputs, outputs, raw_input_contents: raw }
}

function readInput(bytes: Buffer): WireInput {
  const reader = new ProtobufReader(bytes)
  const shape: number[] = []
  const parameters = emptyParameters()
  let name = ''
  let datatype = ''
  let contents: Buffer | null = null
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case INPUT.name: name = reader.text(); break
      case INPUT.datatype: datatype = reader.text(); break
      case INPUT.shape: shape.push(reader.int64Number()); break
      case INPUT.packedShape: {
        const packed = new ProtobufReader(reader.bytes())
        while (packed.at < packed.end) shape.push(packed.int64Number())
        break
      }
      case INPUT.parameters: readParameter(reader.bytes(), parameters); break
      case INPUT.contents: {
        // A message that is given in parts is the parts one after the other.
        const part = reader.bytes()
        contents = contents === null ? part : Buffer.concat([contents, part])
        break
      }
      default: reader.skip(tag)
    }
  }
  return { name, datatype, shape, parameters, contents }
}

function readOutput(bytes: Buffer): WireRequestedOutput {
  const reader = new ProtobufReader(bytes)
  const parameters = emptyParameters()
  let name = ''
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case OUTPUT.name: name = reader.text(); break
      case OUTPUT.parameters: readParameter(reader.bytes(), parameters); break
      default: reader.skip(tag)
    }
  }
  return { name, parameters }
}

/** One entry of a map<string, InferParameter>; the last one of a key counts. */
function readParameter(bytes: Buffer, into: Record<string, WireParameter>): void {
  const reader = new ProtobufReader(bytes)
  let key = ''
  let value: WireParameter = {}
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case ENTRY.key: key = reader.text(); break
      case ENTRY.value: value = readChoice(reader.bytes(), value); break
      default: reader.skip(tag)
    }
  }
  into[key] = value
}

function readChoice(bytes: Buffer, before: WireParameter): WireParameter {
  const reader = new ProtobufReader(bytes)
  let choice: Mutable<WireParameter> = before
  for (let tag = reader.tag(); tag !== 0; tag = reader.tag()) {
    switch (tag) {
      case PARAMETER.bool: choice = { parameter_choice: 'bool_param', bool_param: reader.bool() }; break
      case PARAMETER.int64: choice = { parameter_choice: 'int64_param', int64_param: reader.int64().toString() }; break
      case PARAMETER.string: choice = { parameter_choice: 'string_param', string_param: reader.text() }; break
      case PARAMETER.double: choice = { parameter_choice: 'double_param', double_param: reader.double() }; break
      case PARAMETER.uint64: choice = { parameter_choice: 'uint64_param', uint64_param: reader.uint64().toString() }; break
      default: reader.skip(tag)
    }
  }
  return choice
}

/** Without a prototype, so that no key of a request reaches one. */
function emptyParameters(): Record<string, WireParameter> & WireParameters { return Object.create(null) as Record<string, WireParameter> }
