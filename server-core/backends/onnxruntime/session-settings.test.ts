import { describe, expect, it } from 'vitest'
import { readModelConfig } from '../../model-config/read-config.ts'
import { readSessionSettings } from './session-settings.ts'

const settingsOf = (text: string, backendConfig: Record<string, string> = {}) => readSessionSettings(readModelConfig(`name: "m" ${text}`, 'config.pbtxt'), backendConfig)
const parameter = (key: string, value: string) => `parameters { key: "${key}" value { string_value: "${value}" } }`

describe('readSessionSettings', () => {
  it("leaves ONNX Runtime's defaults where nothing is set", () => {
    expect(settingsOf('')).toEqual({ graphOptimizationLevel: 'all' })
  })

  it('reads the parameters of the model', () => {
    const text = [['intra_op_thread_count', '3'], ['inter_op_thread_count', '2'], ['execution_mode', '1'], ['enable_mem_arena', '0'], ['enable_mem_pattern', '1']]
      .map(([key, value]) => parameter(key!, value!)).join(' ')
    expect(settingsOf(text)).toEqual({
      intraOpNumThreads: 3, interOpNumThreads: 2, executionMode: 'parallel', enableCpuMemArena: false, enableMemPattern: true, graphOptimizationLevel: 'all',
    })
  })

  it("takes the backend's settings where the model has none; 0 threads means the default", () => {
    expect(settingsOf('', { intra_op_thread_count: '4' })).toMatchObject({ intraOpNumThreads: 4 })
    expect(settingsOf(parameter('intra_op_thread_count', '1'), { intra_op_thread_count: '4' })).toMatchObject({ intraOpNumThreads: 1 })
    expect(settingsOf(parameter('intra_op_thread_count', '0'))).not.toHaveProperty('intraOpNumThreads')
  })

  it.each<[number, string]>([[-1, 'basic'], [0, 'all'], [1, 'extended'], [2, 'all']])('maps graph level %i to %s', (level, expected) => {
    expect(settingsOf(`optimization { graph { level: ${level} } }`).graphOptimizationLevel).toBe(expected)
  })

  it('names the parameter that is no number', () => {
    expect(() => settingsOf(parameter('intra_op_thread_count', 'many'))).toThrow("parameter 'intra_op_thread_count' of model 'm' must be a whole number >= 0, got 'many'")
  })
})
