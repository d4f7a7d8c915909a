/**
 * The data flow of an ensemble as its file writes it: every place that names an ensemble tensor, what produces it and what consumes it, and the
 * places that name something of a member model. Facts: `input_map` and `output_map` have the member's tensor as key and the ensemble's as value
 * (specs/model-config.md, section 3); an ensemble input is produced by the request, an ensemble output is consumed by the response (section 11).
 */
import type { ConfigContext } from '../contract/config-language.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import { elementsNamed } from './config-path.ts'
import type { PbtxtMessage, PbtxtScalar, PbtxtSpan, PbtxtTree } from './pbtxt-tree.ts'

export type TensorRole = 'input' | 'output'

/** One place that names an ensemble tensor. */
export interface EnsembleEnd {
  readonly tensor: string
  /** 'input', 'output': `name` of the ensemble's own tensors; the maps: the value of an entry. */
  readonly where: TensorRole | 'input_map' | 'output_map'
  readonly isProducer: boolean
  /** The string as it is written, quotes included. */
  readonly literal: PbtxtScalar
}

/** One place that names a member model, or a tensor of it. */
export interface MemberLink {
  readonly modelName: string
  /** The key of a map; null: `model_name`. */
  readonly tensor: { readonly role: TensorRole; readonly name: string } | null
  readonly literal: PbtxtScalar
}

export interface EnsembleGraph {
  /** In the order of the file. */
  readonly ends: readonly EnsembleEnd[]
  readonly links: readonly MemberLink[]
}

const graphs = new WeakMap<PbtxtTree, EnsembleGraph>()

/** Without ends and links for a config that is no ensemble. Whatever the parser could not read is left out. */
export function ensembleGraph(tree: PbtxtTree): EnsembleGraph {
  const known = graphs.get(tree)
  if (known !== undefined) return known
  const graph = readGraph(tree)
  graphs.set(tree, graph)
  return graph
}

function readGraph({ root }: PbtxtTree): EnsembleGraph {
  const scheduling = messagesNamed(root, 'ensemble_scheduling')
  if (scheduling.length === 0) return { ends: [], links: [] }
  const ends: EnsembleEnd[] = []
  const links: MemberLink[] = []
  for (const role of ['input', 'output'] as const) {
    for (const { literal, name } of tensorNames(root, role)) ends.push({ tensor: name, where: role, isProducer: role === 'input', literal })
  }
  for (const step of scheduling.flatMap((message) => messagesNamed(message, 'step'))) {
    const model = textNamed(step, 'model_name')
    if (model !== null) links.push({ modelName: model.name, tensor: null, literal: model.literal })
    for (const [where, role] of [['input_map', 'input'], ['output_map', 'output']] as const) {
      for (const entry of messagesNamed(step, where)) {
        const key = textNamed(entry, 'key')
        const value = textNamed(entry, 'value')
        if (key !== null && model !== null) links.push({ modelName: model.name, tensor: { role, name: key.name }, literal: key.literal })
        if (value !== null) ends.push({ tensor: value.name, where, isProducer: where === 'output_map', literal: value.literal })
      }
    }
  }
  const inOrder = (a: { readonly literal: PbtxtSpan }, b: { readonly literal: PbtxtSpan }): number => a.literal.start - b.literal.start
  return { ends: ends.sort(inOrder), links: links.sort(inOrder) }
}

interface NamedText {
  readonly name: string
  readonly literal: PbtxtScalar
}

function messagesNamed(message: PbtxtMessage, name: string): PbtxtMessage[] {
  return elementsNamed(message, name).flatMap(({ value }) => (value.kind === 'message' ? [value] : []))
}

/** The string field of this name; null where it is not there or not readable. */
function textNamed(message: PbtxtMessage, name: string): NamedText | null {
  const value = elementsNamed(message, name).at(-1)?.value
  return value?.kind === 'scalar' && typeof value.value === 'string' && value.tokens.length > 0 ? { name: value.value, literal: value } : null
}

/** `name` of each of a config's inputs or outputs, as far as it is written. */
export function tensorNames(root: PbtxtMessage, role: TensorRole): NamedText[] {
  return messagesNamed(root, role).flatMap((tensor) => textNamed(tensor, 'name') ?? [])
}

/** Where a config itself writes a tensor's name; null: it leaves the tensor to the model file, or has none of that name. */
export function tensorNamed(tree: PbtxtTree, role: TensorRole, name: string): PbtxtScalar | null {
  return tensorNames(tree.root, role).find((tensor) => tensor.name === name)?.literal ?? null
}

function holds({ start, end }: PbtxtSpan, offset: number): boolean {
  return start <= offset && offset <= end
}

/** The ensemble tensor that is named at an offset. */
export function endAt(tree: PbtxtTree, offset: number): EnsembleEnd | null {
  return ensembleGraph(tree).ends.find(({ literal }) => holds(literal, offset)) ?? null
}

/** The member model, or its tensor, that is named at an offset. */
export function memberLinkAt(tree: PbtxtTree, offset: number): MemberLink | null {
  return ensembleGraph(tree).links.find(({ literal }) => holds(literal, offset)) ?? null
}

/** All places of the tensor that an end names, the end itself included, in the order of the file. */
export function endsOfTensor(tree: PbtxtTree, tensor: string): readonly EnsembleEnd[] {
  return ensembleGraph(tree).ends.filter((end) => end.tensor === tensor)
}

/** From a consumer what produces the tensor, from a producer what consumes it. */
export function otherEnds(tree: PbtxtTree, { tensor, isProducer }: EnsembleEnd): readonly EnsembleEnd[] {
  return endsOfTensor(tree, tensor).filter((end) => end.isProducer !== isProducer)
}

/** What lies between the quotes; all of it where the string is written in several parts or not closed. */
export function insideQuotes({ tokens, start, end }: PbtxtScalar): PbtxtSpan {
  const [token] = tokens
  const isClosed = tokens.length === 1 && token !== undefined && /^(?:"[^]*"|'[^]*')$/.test(token.text) && token.text.length >= 2
  return isClosed ? { start: start + 1, end: end - 1 } : { start, end }
}

/** An ensemble of the repository that maps a tensor of a model. */
export interface EnsembleUse {
  readonly ensemble: string
  /** Its own name for the tensor. */
  readonly tensor: string
}

/** The ensembles of the repository that map a model's tensor. Those that are being edited elsewhere are seen as they are on disk. */
export function ensemblesThatMap({ models }: Pick<ConfigContext, 'models'>, modelName: string, role: TensorRole, name: string): EnsembleUse[] {
  return Object.entries(models).flatMap(([ensemble, { config }]) => stepsOf(config).flatMap((step): EnsembleUse[] => {
    const map = role === 'input' ? step.input_map : step.output_map
    const tensor = step.model_name === modelName && map !== undefined && Object.hasOwn(map, name) ? map[name] : undefined
    return tensor === undefined ? [] : [{ ensemble, tensor }]
  }))
}

interface Step {
  readonly model_name: string
  readonly input_map?: Readonly<Record<string, string>>
  readonly output_map?: Readonly<Record<string, string>>
}

function stepsOf(config: ModelConfig): readonly Step[] {
  return (config.ensemble_scheduling?.['step'] ?? []) as readonly Step[]
}
