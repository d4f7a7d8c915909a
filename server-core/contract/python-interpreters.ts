/** The Pythons that models written in Python can run with, as the window lets choose among them. */
import type { LocalizedText } from './config-language.ts'

/** The parameter of a model that chooses its interpreter: a path of `PythonInterpreter.path`. */
export const PYTHON_INTERPRETER_PARAMETER = 'PYTHON_INTERPRETER'
/** Triton's: an archive or folder of an environment. */
export const PYTHON_ENVIRONMENT_PARAMETER = 'EXECUTION_ENV_PATH'

export interface PythonInterpreter {
  /** Absolute: the folder of an environment, or the file of an interpreter. What `PYTHON_INTERPRETER` and `--backend-config=python,interpreter=` take. */
  readonly path: string
  readonly kind: 'system' | 'venv' | 'conda'
  /** `3.11.2`; null: it was not asked, or did not answer. */
  readonly version: string | null
  /** null: numpy cannot be imported. */
  readonly numpyVersion: string | null
  /** Of the installed package, which is not imported for this; '' : it does not say; null: it is not installed. */
  readonly torchVersion: string | null
  /** As `torchVersion`, of `torch_npu`. */
  readonly torchNpuVersion: string | null
  /** Models that choose none run with it. At most one is. */
  readonly isDefault: boolean
  /** Why models cannot run with it; null: they can. */
  readonly problem: LocalizedText | null
}
