/** What a model instance and its worker thread say to each other. Tensor bytes travel as transferred buffers, never cloned. */
import type { DataType } from '../../contract/inference.ts'
import type { HostPolicy } from '../backend.ts'
import type { SessionSettings } from './session-settings.ts'

export interface WorkerData {
  /** Absolute path of the model file. */
  readonly modelPath: string
  readonly settings: SessionSettings
  /** Severity from which ONNX Runtime itself writes to standard error; its errors reach us as exceptions anyway. */
  readonly logLevel: 'warning' | 'fatal'
  /** Where this thread and those of the session run; null: anywhere. */
  readonly hostPolicy: HostPolicy | null
}

/** A tensor in Triton's raw form; `data` holds exactly its bytes. */
export interface WorkerTensor {
  readonly name: string
  readonly datatype: DataType
  readonly dims: readonly number[]
  readonly data: ArrayBuffer
}

export type ToWorker =
  | { readonly kind: 'run'; readonly inputs: readonly WorkerTensor[]; readonly outputNames: readonly string[] }
  | { readonly kind: 'close' }

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'loadFailed'; readonly message: string }
  /** The thread could not be bound as the host policy says. */
  | { readonly kind: 'bindFailed'; readonly message: string }
  | { readonly kind: 'ran'; readonly outputs: readonly WorkerTensor[]; readonly computeStart: number; readonly computeEnd: number }
  | { readonly kind: 'runFailed'; readonly message: string }
  | { readonly kind: 'closed' }
