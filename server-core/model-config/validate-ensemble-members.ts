/**
 * An ensemble against its composing models, with Triton's texts: which models and versions there are, batch sizes, mappings, types and
 * shapes along every edge, decoupled models, cycles. One implementation for the loader (which refuses with the first problem) and the editor
 * (which shows all, `rules/judgement-ensemble.ts`). What an ensemble's config must be by itself: `validate-ensemble.ts`. Pure.
 */
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import type { ConfigPath } from './config-path.ts'
import type { ConfigProblem } from './config-problem.ts'

/** One model that steps may name. */
export interface EnsembleMember {
  /** Completed, as `/config` shows it; null: not known, so that nothing is judged against it. */
  readonly config: ModelConfig | null
  /** Versions that are loaded (for the editor: those on disk); null: not known. */
  readonly versions: readonly number[] | null
  /** Why the model itself is not valid: its config was refused, or what it depends on is missing. */
  readonly invalidReason?: string
  /** Why none of its versions is loaded. */
  readonly loadError?: string
}

/** By model name. For cycles it holds every model that the steps lead to, not only the direct ones; the ensemble itself may be missing. */
export type EnsembleMembers = ReadonlyMap<string, EnsembleMember>

export interface EnsembleStep {
  readonly model_name: string
  readonly model_version: number
  readonly input_map: Readonly<Record<string, string>>
  readonly output_map: Readonly<Record<string, string>>
}

/** One end of an edge: an ensemble tensor as the ensemble or the model of a step declares it. */
export interface EnsembleEnd {
  /** The model that declares it. */
  readonly model: string
  readonly dataType: string
  readonly dims: readonly number[]
  readonly isBatching: boolean
  readonly path: ConfigPath
  /** Declared in the ensemble's own `input` or `output`. */
  readonly isOwn: boolean
}

export interface EnsembleProblem extends ConfigProblem {
  /** Position of the step it is about. */
  readonly step?: number
  /** Of an edge whose ends differ. */
  readonly ends?: readonly [EnsembleEnd, EnsembleEnd]
}

export function ensembleSteps(config: ModelConfig): readonly EnsembleStep[] {
  return (config.ensemble_scheduling?.['step'] ?? []) as readonly EnsembleStep[]
}

function stepPath(index: number, ...rest: ConfigPath): ConfigPath {
  return ['ensemble_scheduling', 'step', index, ...rest]
}

/**
 * Everything that the composing models refuse, in the order in which a load finds it; `refuseFirst` of it is the loader's check. A config
 * without ensemble_scheduling has no problem here.
 *
 * @param config of the ensemble: named, normalised, and without problems of its own (`ensembleProblems`)
 */
export function* validateEnsembleAgainstMembers(config: ModelConfig, members: EnsembleMembers): Generator<EnsembleProblem> {
  if (config.ensemble_scheduling === undefined) return
  const steps = ensembleSteps(config)
  yield* cycleProblems(config.name, steps, members)
  yield* missingModels(config.name, steps, members)
  for (const [index, step] of steps.entries()) yield* stateProblems(config.name, step, index, members.get(step.model_name))
  yield* mappingProblems(config, steps, members)
  yield* decoupledFlow(config, steps, members).problems
}

/** Does the ensemble answer like a decoupled model, since a step of it does (model config facts, section 11)? */
export function isDecoupledEnsemble(config: ModelConfig, members: EnsembleMembers): boolean {
  return decoupledFlow(config, ensembleSteps(config), members).isDecoupled
}

function* cycleProblems(name: string, steps: readonly EnsembleStep[], members: EnsembleMembers): Generator<EnsembleProblem> {
  const nextOf = new Map<string, string>()
  const leadsBack = waysBack(name, members, nextOf)
  for (const [index, { model_name: first }] of steps.entries()) {
    if (first !== name && !leadsBack.has(first)) continue
    const circle = [name]
    for (let model = first; model !== name; model = nextOf.get(model) ?? name) circle.push(model)
    circle.push(name)
    const way = circle.join(' -> ')
    yield {
      code: 'ensemble-cycle', path: stepPath(index, 'model_name'), step: index, text: `circular dependency between ensembles: ${way}`, facts: { circle: way },
    }
  }
}

/** Every model from which steps lead to `name`, and in `nextOf` the next one on a shortest way there: one walk for all steps. */
function waysBack(name: string, members: EnsembleMembers, nextOf: Map<string, string>): ReadonlySet<string> {
  const usedBy = new Map<string, string[]>()
  for (const [user, { config }] of members) {
    if (config === null || user === name) continue
    for (const used of new Set(ensembleSteps(config).map((step) => step.model_name))) {
      const users = usedBy.get(used)
      if (users === undefined) usedBy.set(used, [user])
      else users.push(user)
    }
  }
  const found = new Set<string>()
  const queue = [name]
  for (const model of queue) {
    for (const user of usedBy.get(model) ?? []) {
      if (found.has(user)) continue
      found.add(user)
      nextOf.set(user, model)
      queue.push(user)
    }
  }
  return found
}

/** One problem for each step; all bear the text that names every missing model. */
function* missingModels(name: string, steps: readonly EnsembleStep[], members: EnsembleMembers): Generator<EnsembleProblem> {
  const isMissing = (model: string): boolean => model !== name && !members.has(model)
  const missing = [...new Set(steps.map((step) => step.model_name).filter(isMissing))].toSorted()
  if (missing.length === 0) return
  const text = `ensemble ${name} contains models that are not available or ambiguous: ${missing.join(', ')}`
  for (const [index, { model_name: model }] of steps.entries()) {
    if (isMissing(model)) yield { code: 'ensemble-unknown-model', path: stepPath(index, 'model_name'), step: index, text, facts: { model } }
  }
}

function* stateProblems(name: string, step: EnsembleStep, index: number, member: EnsembleMember | undefined): Generator<EnsembleProblem> {
  if (member === undefined) return
  const { model_name: model, model_version: version } = step
  const prefix = `ensemble '${name}' depends on '${model}'`
  if (member.invalidReason !== undefined) {
    yield {
      code: 'ensemble-model-invalid', path: stepPath(index, 'model_name'), step: index, facts: { model, error: member.invalidReason },
      text: `${prefix} which is not valid. Model '${model}' failed with error: ${member.invalidReason}`,
    }
    return
  }
  if (member.versions === null) return
  if (member.versions.length === 0) {
    yield {
      code: 'ensemble-model-not-loaded', path: stepPath(index, 'model_name'), step: index, facts: { model, error: member.loadError ?? '' },
      text: `${prefix} which has no loaded version.${member.loadError === undefined ? '' : ` Model '${model}' loading failed with error: ${member.loadError}`}`,
    }
  } else if (version !== -1 && !member.versions.includes(version)) {
    yield {
      code: 'ensemble-version-not-there', path: stepPath(index, 'model_version'), step: index, facts: { model, version },
      text: `${prefix} whose required version ${version} is not loaded.`,
    }
  }
}

/** Batch sizes, names on both sides of each map, and what both ends of each edge say. */
function* mappingProblems(config: ModelConfig, steps: readonly EnsembleStep[], members: EnsembleMembers): Generator<EnsembleProblem> {
  const ends = ownEnds(config)
  const namesOf = new Map<ModelConfig, TensorNames>()
  for (const [index, step] of steps.entries()) {
    const model = members.get(step.model_name)?.config ?? null
    if (model === null) continue
    const names = namesOf.get(model) ?? tensorNames(model)
    namesOf.set(model, names)
    if (model.max_batch_size !== 0 && model.max_batch_size < config.max_batch_size) {
      yield {
        code: 'ensemble-batch-size', path: ['max_batch_size'], step: index, facts: { model: step.model_name, most: model.max_batch_size },
        text: `ensemble ${config.name} allows maximum batch size ${config.max_batch_size}, but it contains model ${step.model_name} which only allows maximum batch `
          + `size to be ${model.max_batch_size}`,
      }
    }
    yield* inputProblems(config.name, step, index, model, names, ends)
    yield* outputProblems(config.name, step, index, model, names, ends)
  }
}

interface TensorNames {
  readonly input: ReadonlyMap<string, ModelInput>
  readonly output: ReadonlyMap<string, ModelOutput>
  readonly outputsTwice: ReadonlySet<string>
}

function tensorNames(model: ModelConfig): TensorNames {
  const seen = new Set<string>()
  const outputsTwice = new Set(model.output.map(({ name }) => name).filter((name) => seen.size === seen.add(name).size))
  return {
    input: new Map(model.input.map((tensor) => [tensor.name, tensor])), output: new Map(model.output.map((tensor) => [tensor.name, tensor])), outputsTwice,
  }
}

/** The first that declares an ensemble tensor; every later one is compared with it. The ensemble itself comes first. */
function ownEnds(config: ModelConfig): Map<string, EnsembleEnd> {
  const ends = new Map<string, EnsembleEnd>()
  for (const role of ['input', 'output'] as const) {
    for (const [index, tensor] of config[role].entries()) {
      if (ends.has(tensor.name)) continue
      ends.set(tensor.name, {
        model: config.name, dataType: tensor.data_type, dims: tensor.reshape?.shape ?? tensor.dims, isBatching: config.max_batch_size > 0, path: [role, index], isOwn: true,
      })
    }
  }
  return ends
}

function* inputProblems(
  ensemble: string, step: EnsembleStep, index: number, model: ModelConfig, names: TensorNames, ends: Map<string, EnsembleEnd>,
): Generator<EnsembleProblem> {
  for (const [key, tensor] of Object.entries(step.input_map)) {
    if (names.input.has(key)) continue
    yield {
      code: 'ensemble-unknown-tensor', path: stepPath(index, 'input_map', { key }), step: index, facts: { key, tensor, model: step.model_name, map: 'input_map' },
      text: `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapping to non-existing input ${key} in model ${step.model_name}`,
    }
  }
  for (const input of model.input) {
    if (Object.hasOwn(step.input_map, input.name)) {
      yield* edgeProblems(ensemble, step.input_map[input.name] ?? '', stepEnd(step, index, model, 'input_map', input), index, ends)
    } else if (!input.optional) {
      yield {
        code: 'ensemble-input-unmapped', path: stepPath(index, 'input_map'), step: index, facts: { input: input.name, model: step.model_name },
        text: `in ensemble ${ensemble}, input ${input.name} in model ${step.model_name} is not mapped to any ensemble tensors`,
      }
    }
  }
}

function* outputProblems(
  ensemble: string, step: EnsembleStep, index: number, model: ModelConfig, names: TensorNames, ends: Map<string, EnsembleEnd>,
): Generator<EnsembleProblem> {
  for (const [key, tensor] of Object.entries(step.output_map)) {
    const path = stepPath(index, 'output_map', { key })
    const output = names.output.get(key)
    if (output === undefined) {
      yield {
        code: 'ensemble-unknown-tensor', path, step: index, facts: { key, tensor, model: step.model_name, map: 'output_map' },
        text: `in ensemble ${ensemble}, ensemble tensor ${tensor} is mapped from non-existing output ${key} in model ${step.model_name}`,
      }
      continue
    }
    yield* edgeProblems(ensemble, tensor, stepEnd(step, index, model, 'output_map', output), index, ends)
    if (!names.outputsTwice.has(key)) continue
    yield {
      code: 'ensemble-output-ambiguous', path, step: index, facts: { key, tensor, model: step.model_name },
      text: `in ensemble ${ensemble}, multiple outputs in model ${step.model_name} are mapped to the same ensemble tensor ${tensor}`,
    }
  }
}

function stepEnd(step: EnsembleStep, index: number, model: ModelConfig, map: 'input_map' | 'output_map', tensor: ModelInput | ModelOutput): EnsembleEnd {
  return {
    model: step.model_name, dataType: tensor.data_type, dims: tensor.dims, isBatching: model.max_batch_size > 0, path: stepPath(index, map, { key: tensor.name }), isOwn: false,
  }
}

function* edgeProblems(ensemble: string, tensor: string, other: EnsembleEnd, step: number, ends: Map<string, EnsembleEnd>): Generator<EnsembleProblem> {
  const first = ends.get(tensor)
  if (first === undefined) {
    ends.set(tensor, other)
    return
  }
  const prefix = `in ensemble ${ensemble}, ensemble tensor ${tensor}: inconsistent`
  const common = { path: other.path, step, ends: [first, other], facts: { tensor } } as const
  if (first.dataType !== other.dataType) {
    yield {
      ...common, code: 'ensemble-type-differs',
      text: `${prefix} data type: ${first.dataType} is inferred from model ${first.model} while ${other.dataType} is inferred from model ${other.model}`,
    }
  }
  if (areShapesEqual(first, other)) return
  yield {
    ...common, code: 'ensemble-shape-differs',
    text: `${prefix} shape: ${fullShapeText(first)} is inferred from model ${first.model} while ${fullShapeText(other)} is inferred from model ${other.model}`,
  }
}

function fullShape({ dims, isBatching }: EnsembleEnd): readonly number[] {
  return isBatching ? [-1, ...dims] : dims
}

/** `[-1,16]`, with the batch dim of a batching model. */
export function fullShapeText(end: EnsembleEnd): string {
  return `[${fullShape(end).join(',')}]`
}

/** Equal up to -1, either without the batch dim or with it (section 11). */
function areShapesEqual(a: EnsembleEnd, b: EnsembleEnd): boolean {
  const fits = (left: readonly number[], right: readonly number[]): boolean =>
    left.length === right.length && left.every((dim, index) => dim === -1 || right[index] === -1 || dim === right[index])
  return fits(a.dims, b.dims) || fits(fullShape(a), fullShape(b))
}

/**
 * Each decoupled step starts a stream of its own, which the steps behind it pass on; what a step reads must all come from one stream, the
 * ensemble's inputs being one too. The ensemble's outputs are read together, as if by a last step.
 */
function decoupledFlow(config: ModelConfig, steps: readonly EnsembleStep[], members: EnsembleMembers): { readonly problems: EnsembleProblem[]; readonly isDecoupled: boolean } {
  const isDecoupled = (step: EnsembleStep): boolean => members.get(step.model_name)?.config?.model_transaction_policy?.decoupled === true
  if (!steps.some(isDecoupled)) return { problems: [], isDecoupled: false }
  const problems: EnsembleProblem[] = []
  const streamOf = new Map<string, number>(config.input.map(({ name }) => [name, 0]))
  const readersOf = new Map<string, number[]>()
  const waitsFor = steps.map((step) => new Set(Object.values(step.input_map)).size)
  for (const [index, step] of steps.entries()) {
    for (const tensor of new Set(Object.values(step.input_map))) {
      const readers = readersOf.get(tensor)
      if (readers === undefined) readersOf.set(tensor, [index])
      else readers.push(index)
    }
  }
  const refuse = (model: string, path: ConfigPath, tensors: Iterable<string>, step?: number): void => {
    const streams = new Set([...tensors].flatMap((tensor) => streamOf.get(tensor) ?? []))
    if (streams.size < 2) return
    problems.push({
      code: 'ensemble-decoupled-inputs', path, facts: { model }, ...(step === undefined ? {} : { step }),
      text: `in ensemble ${config.name}, step of model '${model}' receives inputs originated from different decoupled models`,
    })
  }
  let streams = 0
  const queue = [...streamOf.keys()]
  for (const tensor of queue) {
    for (const reader of readersOf.get(tensor) ?? []) {
      const step = steps[reader]
      waitsFor[reader] = (waitsFor[reader] ?? 0) - 1
      if (step === undefined || waitsFor[reader] !== 0) continue
      refuse(step.model_name, stepPath(reader, 'input_map'), Object.values(step.input_map), reader)
      const stream = isDecoupled(step) ? ++streams : streamOf.get(Object.values(step.input_map)[0] ?? '') ?? 0
      for (const written of Object.values(step.output_map)) {
        if (streamOf.has(written)) continue
        streamOf.set(written, stream)
        queue.push(written)
      }
    }
  }
  refuse(config.name, ['output'], config.output.map(({ name }) => name))
  return { problems, isDecoupled: streams > 0 }
}
