/** What a server text about a failed load means: the sentence to head it with, where, expected and found, and the likely cause. */
import { explainNpuFault, type NpuFault } from '../../server-core/contract/npu-fault.ts'

export type FailureCause =
  | NpuFault
  | 'configCutOff' | 'configField' | 'configTwice' | 'configValue' | 'configSyntax' | 'configUnreadable' | 'backendMissing' | 'backendUnknown' | 'directoryName' | 'noVersion' | 'fileMissing' | 'fileDamaged' | 'opsetTooNew'
  | 'pythonModule' | 'pythonError' | 'pythonEnded' | 'notTrusted' | 'codeInRequest' | 'operatorMissing' | 'batchAxis' | 'tensorShape' | 'noBatching' | 'datatype' | 'tensorCount' | 'tensorName' | 'gpu' | 'outOfMemory' | 'unsupportedField' | 'nonAscii'

export interface FailurePlace {
  readonly file: string
  readonly line: number
  readonly column: number | null
}

export interface FailureExplanation {
  /** Keys below `failure:sentence` and `failure:cause`; null: the server's text has to speak for itself. */
  readonly cause: FailureCause | null
  /** Values for the texts of the cause. */
  readonly facts: Readonly<Record<string, string>>
  readonly place: FailurePlace | null
  readonly expected: string | null
  readonly found: string | null
}

interface Rule {
  readonly cause: FailureCause
  readonly pattern: RegExp
}

/** The first match wins; named groups become facts. Wordings are the server protocol's and ONNX Runtime's own. */
const RULES: readonly Rule[] = [
  // First: what an exception of a model says may be anything.
  { cause: 'pythonModule', pattern: /ModuleNotFoundError: No module named '(?<module>[^']*)'[^\n]*\n\nAt:\n/ },
  { cause: 'pythonError', pattern: /(?:(?:Internal|Unavailable|Invalid argument|Unknown): )?(?<error>[A-Z_a-z][\w.]*(?:: [^\n]*)?(?:\n[^\n]+)*)\n\nAt:\n {2}\S/ },
  { cause: 'pythonEnded', pattern: /Stub process '[^']*' is not healthy/ },
  { cause: 'notTrusted', pattern: /its repository '(?<repository>[^']*)' is not trusted/ },
  { cause: 'codeInRequest', pattern: /came with the load request, which this server does not run/ },
  { cause: 'nonAscii', pattern: /Interpreting non ascii codepoint/ },
  { cause: 'configField', pattern: /text-format inference\.ModelConfig: \d+:\d+: Message type "(?<message>[^"]*)" has no field named "(?<field>[^"]*)"/ },
  { cause: 'configTwice', pattern: /text-format inference\.ModelConfig: \d+:\d+: Non-repeated field "(?<field>[^"]*)" is specified multiple times/ },
  { cause: 'configValue', pattern: /text-format inference\.ModelConfig: \d+:\d+: (?<text>(?:Expected (?:integer|double|string)\b.*got: |Invalid value for boolean|Unknown enumeration value|Integer out of range).+)/ },
  { cause: 'configCutOff', pattern: /text-format inference\.ModelConfig: \d+:\d+: Expected [^\n]*, (?:got: *|found ""\.?)(?:$|\n)/ },
  { cause: 'configSyntax', pattern: /Error parsing text-format inference\.ModelConfig: \d+:\d+: (?<text>.+)/ },
  { cause: 'configUnreadable', pattern: /failed to read text proto from (?<file>\S+)/ },
  { cause: 'backendMissing', pattern: /unable to find backend library for backend '(?<backend>[^']*)'/ },
  { cause: 'backendUnknown', pattern: /Could not determine backend for model/ },
  { cause: 'directoryName', pattern: /unexpected directory name '(?<directory>[^']*)' for model '(?<name>[^']*)'/ },
  { cause: 'noVersion', pattern: /at least one version must be available/i },
  { cause: 'unsupportedField', pattern: /sets (?<field>\S+): this version cannot run/ },
  { cause: 'gpu', pattern: /KIND_GPU/ },
  { cause: 'datatype', pattern: /expects datatype (?<expected>\S+) for (?:input|output) '(?<tensor>[^']*)', model provides (?<found>[^\s.,]+)/ },
  { cause: 'tensorCount', pattern: /configuration expects (?<expected>\d+) (?:inputs|outputs), model provides (?<found>\d+)/ },
  { cause: 'tensorName', pattern: /unexpected inference (?:input|output) '(?<tensor>[^']*)', allowed (?:inputs|outputs) are: (?<allowed>[^.\n]+)/ },
  { cause: 'noBatching', pattern: /model does not support batching while non-zero max_batch_size/ },
  { cause: 'batchAxis', pattern: /the model expects \d+ dimensions? \(shape (?<expected>\[[^\]]*\])\).*(?:making complete shape|complete shape) (?<found>\[[^\]]*\])/s },
  { cause: 'batchAxis', pattern: /unexpected shape for (?:input|output) '(?<tensor>[^']*)'.*?Expected (?<found>\[[^\]]*\]), got (?<expected>\[[^\]]*\])/s },
  { cause: 'fileMissing', pattern: /unable to find '(?<file>[^']*)' for model|(?:No such file|doesn't exist|File not found)/i },
  { cause: 'opsetTooNew', pattern: /Current official support for domain \S+ is till opset (?<supported>\d+)|Unsupported model IR version|opset \d+ is under development/ },
  { cause: 'operatorMissing', pattern: /(?:NOT_IMPLEMENTED|Could not find an implementation for|is not a registered function\/op)\W*(?<operator>[A-Za-z][\w.]*)?/ },
  { cause: 'fileDamaged', pattern: /Cannot read the ONNX model '(?<file>[^']*)'|Protobuf parsing failed|INVALID_PROTOBUF|ModelProto does not have a graph|INVALID_GRAPH|Invalid model/i },
  { cause: 'outOfMemory', pattern: /bad_alloc|out of memory|Failed to allocate memory/i },
]

/** @param text the reason in the repository index, or the log line of the failure */
export function explainFailure(text: string): FailureExplanation {
  const place = placeIn(text)
  const npu = explainNpuFault(text)
  if (npu !== null) return { cause: npu.fault, facts: { code: npu.code, ...(npu.card === null ? {} : { card: String(npu.card) }) }, place, expected: null, found: null }
  for (const { cause, pattern } of RULES) {
    const match = pattern.exec(text)
    if (!match) continue
    const groups = Object.fromEntries(Object.entries(match.groups ?? {}).flatMap(([key, value]) => (typeof value === 'string' ? [[key, value.trim()]] : [])))
    const { expected, found, ...facts } = groups as Record<string, string>
    return { cause: cause === 'batchAxis' && axisCount(expected) === axisCount(found) ? 'tensorShape' : cause, facts, place, expected: expected ?? null, found: found ?? null }
  }
  return { cause: null, facts: {}, place, expected: null, found: null }
}

/** Of a printed shape; undefined where it is not one. */
function axisCount(shape: string | undefined): number | undefined {
  return shape?.split(',').length
}

function placeIn(text: string): FailurePlace | null {
  const named = /([\w./-]*config\.pbtxt):(\d+)(?::(\d+))?/.exec(text)
  if (named) return { file: lastTwoParts(named[1] ?? ''), line: Number(named[2]), column: named[3] === undefined ? null : Number(named[3]) }
  const parsed = /text-format inference\.ModelConfig: (\d+):(\d+):/.exec(text)
  return parsed ? { file: 'config.pbtxt', line: Number(parsed[1]), column: Number(parsed[2]) } : null
}

function lastTwoParts(path: string): string {
  return path.split('/').slice(-2).join('/')
}

/** Causes that are mended in config.pbtxt, where no text names the line. */
const CONFIG_CAUSES: ReadonlySet<FailureCause> = new Set(['configCutOff', 'configField', 'configTwice', 'configValue', 'configSyntax', 'configUnreadable', 'backendMissing', 'backendUnknown', 'directoryName', 'batchAxis', 'tensorShape', 'noBatching', 'datatype', 'tensorCount', 'tensorName', 'gpu', 'unsupportedField', 'nonAscii', 'gearMissing', 'streamsUsedUp'])

/** Whether the way to the fix is the config (else it is the files). */
export function isConfigFailure({ cause, place }: FailureExplanation): boolean {
  return place !== null || (cause !== null && CONFIG_CAUSES.has(cause))
}

/** `config.pbtxt:9:13` */
export function formatPlace(place: FailurePlace): string {
  return `${place.file}:${place.line}${place.column === null ? '' : `:${place.column}`}`
}
