import type { ServerRestart } from '../contract/console-api.ts'

/** The flags of `serve` that say what is to be different; given last, they overrule those before. */
export function restartFlags({ npuSource, npuFallback, simulatedCards, simulatedTimeScale, cannSetEnv }: ServerRestart): readonly string[] {
  return [
    ...(npuSource === undefined ? [] : [`--npu=${npuSource}`]),
    ...(npuFallback === undefined ? [] : [`--npu-fallback=${npuFallback}`]),
    ...(simulatedCards === undefined ? [] : [`--npu-simulated-cards=${simulatedCards.join(',')}`]),
    ...(simulatedTimeScale === undefined ? [] : [`--npu-simulated-time-scale=${simulatedTimeScale}`]),
    ...(cannSetEnv === undefined ? [] : [`--cann-set-env=${cannSetEnv}`]),
  ]
}
