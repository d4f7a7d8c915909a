/** The state of the model behind a step, in the window's words. */
import type { EnsembleGraphStep } from '../../../server-core/contract/ensemble.ts'
import { useConsole } from '../../console-store.ts'
import { modelState } from '../../lib/model-state.ts'
import type { ModelStateKind } from '../../lib/model-state.ts'

export function useStepState({ modelName }: Pick<EnsembleGraphStep, 'modelName'>): ModelStateKind {
  return useConsole((store) => {
    const model = store.models?.find((entry) => entry.name === modelName)
    return model === undefined ? 'unloaded' : modelState(model)
  })
}
