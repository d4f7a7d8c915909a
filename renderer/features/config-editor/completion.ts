/** What can be written at a place of a config: fields, enum values, tensor names of the model file, known parameters. Pure. */
import type { ConfigContext, FileTensor, LocalizedText } from '../../../server-core/contract/config-language.ts'
import { DATA_TYPES } from '../../../server-core/contract/inference.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from '../../../server-core/model-config/config-schema.ts'
import type { FieldSchema } from '../../../server-core/model-config/config-schema.ts'
import { elementsNamed } from '../../../server-core/model-config/config-path.ts'
import type { PbtxtMessage, PbtxtTree } from '../../../server-core/model-config/pbtxt-tree.ts'
import { knownParameters } from './known-parameters.ts'
import { namesOf, openFields, positionInConfig, schemaOf } from './position-in-config.ts'
import type { ConfigPosition } from './position-in-config.ts'

export interface CompletionEntry {
  readonly kind: 'field' | 'value' | 'tensor' | 'parameter'
  readonly label: string
  /** A snippet: `$1`, `${1:text}`. */
  readonly snippet: string
  /** Beside the label: a type, a shape. */
  readonly detail: string
  readonly meaning?: LocalizedText
  /** What the model file or the rest of the config says belongs here. */
  readonly isLikely?: boolean
  /** The schema field it writes, for its documentation. */
  readonly field?: { readonly message: string; readonly name: string }
}

export interface Completion {
  readonly entries: readonly CompletionEntry[]
  /** Half-open range of the text that an entry replaces. */
  readonly start: number
  readonly end: number
}

export function completionsAt(tree: PbtxtTree, offset: number, context: ConfigContext): Completion {
  const token = tree.tokens.find((candidate) => candidate.offset < offset && candidate.offset + candidate.text.length >= offset && candidate.kind !== 'space')
  if (token?.kind === 'comment' && !/[\r\n]$/.test(tree.text.slice(token.offset, offset))) return { entries: [], start: offset, end: offset }
  const position = positionInConfig(tree, offset)
  const { message } = position.messages.at(-1) ?? { message: tree.root }
  if (position.part !== 'value' || position.field === null) return fieldEntries(tree, offset, position, message)

  const isString = token?.kind === 'string'
  const isClosed = isString && token.text.length > 1 && token.text.endsWith(token.text.charAt(0))
  const isWord = token?.kind === 'identifier' || token?.kind === 'integer'
  const start = isString ? token.offset : isWord ? token.offset : offset
  const end = isString || isWord ? Math.max(offset, token.offset + token.text.length) : offset
  // Behind a finished string nothing belongs.
  if (isClosed && offset === token.offset + token.text.length) return { entries: [], start: offset, end: offset }
  const entries = valueEntries(tree, position, message, context)
  // A string that is being typed must not swallow the rest of its line.
  return { entries, start, end: isString && !isClosed ? offset : end }
}

function fieldEntries(tree: PbtxtTree, offset: number, { field }: ConfigPosition, message: PbtxtMessage): Completion {
  const schema = schemaOf(message, MODEL_CONFIG_SCHEMA)
  const name = field?.nameTokens.at(-1)
  const isOnName = field !== null && name !== undefined && offset <= name.offset + name.text.length
  const start = isOnName ? name.offset : offset
  const end = isOnName ? name.offset + name.text.length : offset
  if (schema === null) return { entries: [], start, end }
  const hasRest = isOnName && (field.colon !== null || field.list !== null || field.values[0]?.kind === 'message')
  const others = isOnName ? { ...message, fields: message.fields.filter((other) => other !== field) } : message
  const isOneLine = message.open !== null && message.open.line === (tree.tokens.find((token) => token.offset >= offset)?.line ?? 0)
  return {
    start, end,
    entries: openFields(others, schema).map((candidate) => ({
      kind: 'field', label: candidate.name, detail: typeName(candidate), snippet: hasRest ? candidate.name : fieldSnippet(candidate, isOneLine), field: { message: schema.fullName, name: candidate.name },
    })),
  }
}

/** `string`, `DataType`, `ModelInput[]`, `map<string, ModelParameter>`. */
export function typeName(field: FieldSchema): string {
  const value = mapValueField(field)
  if (value !== undefined && field.type.kind === 'message') {
    const key = field.type.message.byName.get('key')
    return `map<${key ? typeName(key) : ''}, ${typeName(value)}>`
  }
  const { type } = field
  const name = type.kind === 'scalar' ? type.scalar : (type.kind === 'enum' ? type.enum.fullName : type.message.fullName).replace(/^inference\./, '')
  return field.isRepeated ? `${name}[]` : name
}

function fieldSnippet(field: FieldSchema, isOneLine: boolean): string {
  const { name, type } = field
  const block = (inner: string) => (isOneLine ? `{ ${inner} }` : `{\n  ${inner}\n}`)
  const value = mapValueField(field)
  if (value !== undefined) {
    const inner = value.type.kind === 'message' ? (value.type.message.byName.has('string_value') ? 'value { string_value: "$2" }' : 'value { $2 }') : 'value: "$2"'
    return `${name} ${block(isOneLine ? `key: "$1" ${inner}` : `key: "$1"\n  ${inner}`)}`
  }
  if (type.kind === 'message') return field.isRepeated ? (isOneLine ? `${name} [ { $0 } ]` : `${name} [\n  {\n    $0\n  }\n]`) : `${name} ${block('$0')}`
  if (field.isRepeated) return type.kind === 'scalar' && type.scalar === 'string' ? `${name}: [ "$0" ]` : `${name}: [ $0 ]`
  return type.kind === 'scalar' && type.scalar === 'string' ? `${name}: "$1"` : `${name}: $0`
}

function literal(value: string): string {
  return JSON.stringify(value).replace(/[$}\\]/g, (character) => `\\${character}`)
}

function valueEntries(tree: PbtxtTree, position: ConfigPosition, message: PbtxtMessage, context: ConfigContext): CompletionEntry[] {
  const { field, messages } = position
  const schema = field?.schema
  if (!field || !schema) return []
  const path = namesOf(position.path)
  if (schema.type.kind === 'enum') return enumEntries(schema, path, message, context)
  if (schema.type.kind !== 'scalar') return []
  if (schema.type.scalar === 'bool') return ['true', 'false'].map((value) => ({ kind: 'value', label: value, snippet: value, detail: 'bool' }))
  if (path.at(-1) === 'dims') return dimsEntries(field.list !== null, tensorOf(message, path, context))
  if (schema.type.scalar !== 'string') return []
  return stringEntries(tree, path.join('.'), messages, context).map((entry) => ({ ...entry, snippet: literal(entry.label) }))
}

function enumEntries(schema: FieldSchema, path: readonly string[], message: PbtxtMessage, context: ConfigContext): CompletionEntry[] {
  if (schema.type.kind !== 'enum') return []
  const tensor = path.at(-1) === 'data_type' ? tensorOf(message, path, context) : undefined
  const likely = tensor?.datatype === null || tensor === undefined ? undefined : DATA_TYPES[tensor.datatype as keyof typeof DATA_TYPES]?.configName
  const defaults = schema.type.enum.fullName === 'inference.DataType' ? ['TYPE_INVALID'] : []
  return Object.keys(schema.type.enum.values).filter((name) => !defaults.includes(name))
    .map((name) => ({ kind: 'value', label: name, snippet: name, detail: name === likely ? tensor?.name ?? '' : '', isLikely: name === likely }))
}

function dimsEntries(isInList: boolean, tensor: FileTensor | undefined): CompletionEntry[] {
  if (tensor === undefined) return []
  return [tensor.shape, tensor.shape.slice(1)].map((shape, index) => {
    const dims = shape.map((dim) => (typeof dim === 'number' ? dim : -1)).join(', ')
    return { kind: 'tensor', label: `[ ${dims} ]`, snippet: isInList ? dims : `[ ${dims} ]`, detail: `${tensor.name} ${index === 0 ? 'max_batch_size: 0' : 'max_batch_size > 0'}`, isLikely: index === 1 }
  })
}

type StringEntry = Omit<CompletionEntry, 'snippet'>

function stringEntries(tree: PbtxtTree, path: string, messages: ConfigPosition['messages'], context: ConfigContext): StringEntry[] {
  const signature = context.versions.toReversed().find((version) => version.signature !== null)?.signature
  const tensors = (list: readonly FileTensor[] | undefined): StringEntry[] => (list ?? []).map((tensor) => ({ kind: 'tensor', label: tensor.name, detail: `${tensor.datatype ?? '?'} [${tensor.shape.join(', ')}]`, isLikely: true }))
  const names = (list: Iterable<string>, detail = ''): StringEntry[] => [...new Set(list)].map((label) => ({ kind: 'value', label, detail }))
  const declared = (field: string) => elementsNamed(tree.root, field).flatMap(({ value }) => (value.kind === 'message' ? [scalarText(value, 'name')] : [])).filter((name) => name !== '')
  switch (path) {
    case 'name': return context.modelName === null ? [] : names([context.modelName])
    case 'backend': return names([...context.backends ?? [], 'onnxruntime', 'python', 'npu_ge', 'npu_om', 'identity'])
    case 'platform': return names(['onnxruntime_onnx', 'ensemble', 'pytorch_libtorch', 'tensorflow_savedmodel', 'tensorrt_plan'])
    case 'input.name': return unused(tensors(signature?.inputs), declared('input'))
    case 'output.name': return unused(tensors(signature?.outputs), declared('output'))
    case 'output.label_filename': return names(Object.keys(context.files).filter((file) => /\.(txt|labels?)$/i.test(file)))
    case 'default_model_filename': return names(context.versions.flatMap((version) => version.files))
    case 'parameters.key': return knownParameters(scalarText(tree.root, 'backend')).map(({ key, meaning, values }) => ({ kind: 'parameter', label: key, detail: values.join(' '), meaning }))
    case 'parameters.value.string_value': {
      const entry = messages.at(-2)?.message
      const key = entry === undefined ? '' : scalarText(entry, 'key')
      return names(knownParameters(scalarText(tree.root, 'backend')).find((parameter) => parameter.key === key)?.values ?? [], key)
    }
    case 'ensemble_scheduling.step.model_name': return names(Object.keys(context.models).sort())
    case 'ensemble_scheduling.step.input_map.key': return modelTensors(messages, context, 'input')
    case 'ensemble_scheduling.step.output_map.key': return modelTensors(messages, context, 'output')
    case 'ensemble_scheduling.step.input_map.value': return names([...declared('input'), ...mappedValues(tree, 'output_map')])
    case 'ensemble_scheduling.step.output_map.value': return names([...declared('output'), ...mappedValues(tree, 'input_map')])
    case 'model_warmup.inputs.key': return names(declared('input'))
    case 'batch_input.source_input': return names(declared('input'))
    case 'optimization.execution_accelerators.cpu_execution_accelerator.name': return names(['openvino'])
    default: return []
  }
}

function unused(entries: readonly StringEntry[], written: readonly string[]): StringEntry[] {
  return entries.map((entry) => ({ ...entry, isLikely: !written.includes(entry.label) }))
}

function modelTensors(messages: ConfigPosition['messages'], context: ConfigContext, way: 'input' | 'output'): StringEntry[] {
  const step = messages.at(-2)?.message
  const model = step === undefined ? undefined : context.models[scalarText(step, 'model_name')]
  return (model?.config[way] ?? []).map((tensor) => ({ kind: 'tensor', label: tensor.name, detail: `${tensor.data_type} [${tensor.dims.join(', ')}]`, isLikely: true }))
}

/** Names of the tensors between the steps of an ensemble. */
function mappedValues(tree: PbtxtTree, map: 'input_map' | 'output_map'): string[] {
  const scheduling = tree.root.fields.find((field) => field.name === 'ensemble_scheduling')?.values[0]
  if (scheduling?.kind !== 'message') return []
  return elementsNamed(scheduling, 'step').flatMap(({ value }) => (value.kind === 'message' ? elementsNamed(value, map) : []))
    .map(({ value }) => (value.kind === 'message' ? scalarText(value, 'value') : '')).filter((name) => name !== '')
}

/** The tensor of the model file that the message around (an input, an output) is about, by its name. */
function tensorOf(message: PbtxtMessage, path: readonly string[], context: ConfigContext): FileTensor | undefined {
  const signature = context.versions.toReversed().find((version) => version.signature !== null)?.signature
  const list = path[0] === 'input' ? signature?.inputs : path[0] === 'output' ? signature?.outputs : undefined
  const name = scalarText(message, 'name')
  return list?.find((tensor) => tensor.name === name) ?? (name === '' && list?.length === 1 ? list[0] : undefined)
}

export function scalarText(message: PbtxtMessage, name: string): string {
  const value = message.fields.findLast((field) => field.name === name)?.values.at(-1)
  return value?.kind === 'scalar' && value.value !== null ? String(value.value) : ''
}
