/**
 * Triton's own validation as findings: the same checks that refuse a load (`validate*.ts`, `normalize.ts`), each with its literal text and
 * what repairs it. What depends on the model's folder, file, machine or neighbours is judged by `judgement-rules.ts`.
 */
import { DATA_TYPES } from '../../contract/inference.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import type { ConfigProblem } from '../config-problem.ts'
import { firstVersionEntries } from '../config-view.ts'
import { inferBackend } from '../infer-backend.ts'
import { instanceGroupProblems, normalGroups, normalizeModelConfig } from '../normalize.ts'
import { sequenceStateProblems } from '../validate-sequence.ts'
import type { SequenceBatching } from '../validate-sequence.ts'
import { configProblems } from '../validate.ts'
import { isNpuBackend } from './judgement-view.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'
import { ADVICE } from './triton-advice.ts'

const CHECKED_ELSEWHERE = ['gpu-kind-without-gpu'] // with the machine: judgement-instances.ts

/** Nobody looks at more; working out their repairs would take long, the more so in a long text. */
function mostRepaired(text: string): number {
  return text.length > 200_000 ? 50 : 500
}

const VALIDATION: ConfigRule = {
  codes: Object.keys(ADVICE),
  *check(view) {
    if (view.config === null) return
    let count = 0
    const most = mostRepaired(view.text)
    for (const problem of problemsOf(view, view.config)) yield toFinding(view, problem, ++count <= most)
  },
}

function* problemsOf(view: ConfigView, config: ModelConfig): Generator<ConfigProblem> {
  const { normalized, context } = view
  if (normalized === null && isEnsembleFragment(config)) return // which blocks are missing is said by judgement-ensemble.ts
  if (normalized === null && context.modelName !== null) yield unknownBackend(view, config)
  // Without a folder nobody knows the backend; the rest is checked as for a backend of one's own.
  const checked = normalized ?? normalizeModelConfig({ ...config, name: view.modelName, backend: config.backend === '' ? 'custom' : config.backend })
  yield* validationProblems(view, checked)
  if (config.ensemble_scheduling === undefined) yield* groupProblems(view, config, checked)
  const sequences = config.sequence_batching as unknown as SequenceBatching | undefined
  if (sequences === undefined) return
  yield* sequenceStateProblems(sequences)
  yield* stateFileProblems(view, sequences)
}

/** As a load validates: once as written, and again, with inputs and outputs, when the model file has completed it. */
function* validationProblems(view: ConfigView, checked: ModelConfig): Generator<ConfigProblem> {
  const completed = view.completions.filter(({ config }) => config !== checked).map(({ config }) => config)
  if (completed.length === 0) {
    for (const problem of configProblems(checked, { checkInputsAndOutputs: true })) {
      if (problem.code !== 'empty-reshape-without-batching' || !mayGetBatching(view, checked)) yield problem
    }
    return
  }
  const said = new Set<string>()
  const stages = [{ config: checked, checkInputsAndOutputs: view.context.isAutoCompleteOff === true }, ...completed.map((config) => ({ config, checkInputsAndOutputs: true }))]
  for (const { config, checkInputsAndOutputs } of stages) {
    for (const problem of configProblems(config, { checkInputsAndOutputs })) {
      const identity = JSON.stringify([problem.code, problem.path, problem.text])
      if (said.has(identity)) continue
      said.add(identity)
      yield problem
    }
  }
}

/** Completion from a model file that is not known here may give the model a batch size. */
function mayGetBatching({ context }: ConfigView, config: ModelConfig): boolean {
  return config.backend === 'onnxruntime' && context.isAutoCompleteOff !== true && config.max_batch_size === 0 && (config.input.length === 0 || config.output.length === 0)
}

/** Copied from a page that shows the scheduling only. */
function isEnsembleFragment(config: ModelConfig): boolean {
  return config.ensemble_scheduling !== undefined && config.platform === '' && config.backend === ''
}

function unknownBackend(view: ConfigView, config: ModelConfig): ConfigProblem {
  let text = ''
  try {
    inferBackend(config, view.modelName, firstVersionEntries(view.context))
  } catch (error) {
    text = error instanceof Error ? error.message : String(error)
  }
  return { code: 'backend-unknown', path: ['backend'], text }
}

function* groupProblems(view: ConfigView, config: ModelConfig, checked: ModelConfig): Generator<ConfigProblem> {
  const gpuCount = view.context.machine?.gpuCount ?? 0
  // As a load makes them; what KIND_AUTO becomes is said for the machine (judgement-instances.ts).
  const groups = config.instance_group.length === 0 ? [] : normalGroups(checked, { gpuCount }).map((group, index) => ({ ...group, kind: config.instance_group[index]?.kind ?? group.kind }))
  for (const problem of instanceGroupProblems({ ...checked, instance_group: groups }, { gpuCount })) {
    const index = problem.path[1]
    const isAutomatic = typeof index === 'number' && groups[index]?.kind === 'KIND_AUTO'
    if (CHECKED_ELSEWHERE.includes(problem.code) || (problem.code === 'unknown-instance-kind' && isAutomatic)) continue
    if (problem.code === 'gpus-without-gpu-kind' && isNpuBackend(checked.backend)) continue
    yield problem
  }
}

interface InitialStateFile { readonly data_type: string; readonly dims: readonly number[]; readonly data_file?: string }

/** Raw bytes of an initial state against its shape, where the folder is known. */
function* stateFileProblems({ context }: ConfigView, sequences: SequenceBatching): Generator<ConfigProblem> {
  for (const [index, state] of sequences.state.entries()) {
    for (const [position, initial] of (state.initial_state as readonly InitialStateFile[]).entries()) {
      const file = initial.data_file ?? ''
      const size = context.files[`initial_state/${file}`]
      const bytesEach = Object.values(DATA_TYPES).find((type) => type.configName === initial.data_type)?.byteSize ?? 0
      const expected = initial.dims.reduce((product, dim) => product * Math.max(0, dim), 1) * bytesEach
      if (file === '' || size === undefined || bytesEach === 0 || size >= expected) continue
      yield {
        code: 'initial-state-file-short', path: ['sequence_batching', 'state', index, 'initial_state', position, 'data_file'], facts: { size, expected },
        // The space is missing in Triton's text too.
        text: `initial_state setting expects ${expected} bytes, but the data provided from ${file}only has ${size} bytes.`,
      }
    }
  }
}

function toFinding(view: ConfigView, problem: ConfigProblem, isRepaired: boolean): Finding {
  const advice = ADVICE[problem.code]
  const fill = (template: string): string => template.replace(/\{(\w+)\}/g, (whole, name: string) => (problem.facts?.[name] === undefined ? whole : String(problem.facts[name])))
  return {
    code: problem.code,
    severity: advice?.severity ?? 'error',
    path: problem.path,
    message: { en: fill(advice?.en ?? problem.text), 'zh-CN': fill(advice?.zh ?? problem.text) },
    serverText: problem.text,
    fixes: isRepaired && isWritten(view, problem) ? (advice?.fixes?.(view, problem) ?? []) : [],
  }
}

/** What the model file completed cannot be changed in the text. */
function isWritten({ config }: ConfigView, { path: [role, index] }: ConfigProblem): boolean {
  return (role !== 'input' && role !== 'output') || typeof index !== 'number' || config?.[role][index] !== undefined
}

export const TRITON_RULES: readonly ConfigRule[] = [VALIDATION]
