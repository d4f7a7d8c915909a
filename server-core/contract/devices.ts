/** The cards of the machine as the console shows them, and the Doctor's findings. */
import type { LocalizedText } from './config-language.ts'
import type { ServerRestart } from './console-api.ts'

/** `--npu`: the cards of this machine, simulated ones, or none at all. */
export const NPU_SOURCES = ['auto', 'simulated', 'off'] as const
export type NpuSource = (typeof NPU_SOURCES)[number]

/** Before the message of a log entry of a server with simulated cards: in no language, as the log. */
export const SIMULATED_MARK = '[simulated]'

/** `--npu-fallback`: what becomes of a model that asks for an NPU and cannot get it. 'allow': ONNX models run on the CPU, and are marked as degraded. */
export const NPU_FALLBACKS = ['fail', 'allow'] as const
export type NpuFallback = (typeof NPU_FALLBACKS)[number]

/** A kind of card that can be simulated. */
export interface SimulatedCardProfile {
  /** As in `--npu-simulated-cards`: '310P3-duo'. */
  readonly name: string
  /** 'Ascend310P3' */
  readonly chip: string
  /** 'Atlas 300I Duo' */
  readonly product: string
  /** Each chip is one device. */
  readonly chipCount: number
  /** Of one chip. */
  readonly aiCores: number
  readonly memoryBytes: number
}

/** What a simulated card can be made to suffer from. */
export const FAULT_KINDS = ['out-of-memory', 'card-lost', 'ecc', 'task-timeout', 'operator-exception', 'hang', 'permission'] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** When it strikes, where that can be chosen. */
export const FAULT_PHASES = ['load', 'copy-in', 'run', 'copy-out', 'sync'] as const
export type FaultPhase = (typeof FAULT_PHASES)[number]

export interface SimulatedFault {
  readonly kind: FaultKind
  /** Logical id; null: every device. */
  readonly device: number | null
  /** How often it strikes; null: until it is cleared. A hang is not counted. */
  readonly count: number | null
  /** Null: wherever it can. */
  readonly phase: FaultPhase | null
  /** Once struck, the device stays as it is until all its users have reset it, also when the fault was cleared meanwhile. */
  readonly needsReset: boolean
}

/** The simulated NPU: what it could be, and what it is while the engine runs with `--npu=simulated`. */
export interface SimulatedNpuReport {
  readonly isOn: boolean
  /** Why it cannot be chosen (not built); null: it can. */
  readonly unavailableReason: string | null
  readonly profiles: readonly SimulatedCardProfile[]
  /** Names of profiles, one a card; while it is off those that it would have. */
  readonly cards: readonly string[]
  /** Factor on the times that are modelled, 0 for none at all; while it is off the one that it would have. */
  readonly timeScale: number
  /** As they were set; empty while it is off. */
  readonly faults: readonly SimulatedFault[]
}

/** What is known about the cards apart from the figures that move (those come with the samples). */
export interface DevicesReport {
  /** Where the figures come from; null: no NPU found. */
  readonly source: 'dcmi' | 'npu-smi' | null
  /** They come from the simulated NPU. */
  readonly isSimulated: boolean
  readonly driverVersion: string | null
  /** Why there is nothing new; null: the last reading succeeded. */
  readonly problem: LocalizedText | null
  readonly cards: readonly DeviceCard[]
  /** Null: the driver does not list processes. */
  readonly processes: readonly DeviceProcess[] | null
  /** Newest load first. */
  readonly memory: readonly ModelCardMemory[]
  /** `ASCEND_RT_VISIBLE_DEVICES` of the server process; null: not set, all cards are visible. */
  readonly visibleDevices: VisibleDevices | null
}

/** One chip, by all the numbers that name it. Null: not reported. */
export interface DeviceCard {
  /** As in `NpuSample.card`. */
  readonly card: number
  readonly chip: string
  /** `NPU` of npu-smi: the slot. */
  readonly slot: number
  /** `Chip` of npu-smi: counts the chips of one card; 0 and 1 on a Duo or A3. */
  readonly chipIndex: number | null
  /** What CANN and `device_ids` mean while `ASCEND_RT_VISIBLE_DEVICES` is not set. */
  readonly logicalId: number | null
  /** What they mean in this server process; null: hidden from it, or the logical id is not known. */
  readonly visibleId: number | null
  readonly busId: string | null
  /** `/dev/davinci<N>`; null: the logical id is not known. */
  readonly deviceNode: string | null
  /** Of the chip as CANN's tables state it; null: not in the tables. */
  readonly aiCores: number | null
  readonly vectorCores: number | null
}

export interface DeviceProcess {
  readonly card: number
  readonly processId: number
  readonly name: string
  readonly memoryBytes: number | null
  /** The models that live in this process; empty: none is known. */
  readonly models: readonly string[]
  /** Started by this server, or itself. */
  readonly isOurs: boolean
}

/** Card memory around the load of one model, in bytes; null: not measured (yet). */
export interface ModelCardMemory {
  readonly model: string
  readonly card: number
  /** 'process': what the server's own processes hold; 'card': all that is used on the card, where the driver lists no processes. */
  readonly basis: 'process' | 'card'
  readonly beforeBytes: number | null
  readonly loadedBytes: number | null
  readonly afterUnloadBytes: number | null
  /** What the backend says its instances hold on this card (weights and work space); null: it does not say. Other than the measured differences it is this model's alone. */
  readonly reportedBytes: number | null
  /** When the load began, milliseconds since the epoch. */
  readonly startedAt: number
  /** Another model was loaded or unloaded meanwhile: the difference is not this model's alone. */
  readonly isShared: boolean
}

export interface VisibleDevices {
  readonly value: string
  /** Logical ids that are visible, in the order in which they are numbered from 0. */
  readonly logicalIds: readonly number[]
  /** What CANN makes of it that was hardly meant; null: it is well formed. */
  readonly problem: LocalizedText | null
}

export type DoctorVerdict = 'ok' | 'warning' | 'problem' | 'unknown'

export type DoctorCheckId =
  | 'npu' | 'driver' | 'firmware' | 'npu-smi' | 'cards' | 'device-nodes' | 'cann' | 'environment' | 'visible-devices'
  | 'python' | 'shared-memory' | 'compiler' | 'native' | 'onnxruntime'

export interface DoctorCheck {
  readonly id: DoctorCheckId
  readonly verdict: DoctorVerdict
  /** What was found, as a headline. */
  readonly title: LocalizedText
  /** What that means, with the place that was looked at. */
  readonly detail: LocalizedText
  /** What to do; null: nothing. */
  readonly fix: DoctorFix | null
}

export interface DoctorFix {
  readonly text: LocalizedText
  /** To be typed in a shell; null: it is no command. */
  readonly command: string | null
  /** What `server.restart` can do about it, where the engine can be restarted: the "Apply" of this fix. Null: nothing. */
  readonly restart: ServerRestart | null
}

export interface DoctorReport {
  /** Milliseconds since the epoch. */
  readonly ranAt: number
  readonly milliseconds: number
  /** A card, its driver or its tools were found. */
  readonly hasNpu: boolean
  /** The cards that were looked at are simulated ones. */
  readonly isSimulated: boolean
  /** The whole in one sentence. */
  readonly summary: LocalizedText
  /** By all the numbers that name them; empty where the driver lists none. */
  readonly devices: readonly DeviceCard[]
  /** Problems first, then warnings, unknown, ok. */
  readonly checks: readonly DoctorCheck[]
}
