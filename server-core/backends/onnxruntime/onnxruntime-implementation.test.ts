import { describe, expect, it } from 'vitest'
import { chooseOnnxRuntime } from './onnxruntime-implementation.ts'

const THERE = { ok: true, onnxRuntimeLibrary: '/lib/libonnxruntime.so.1' } as const
const MISSING = { ok: false, reason: 'the addon is not built' } as const

describe('implementation of the onnxruntime backend', () => {
  it('is the one that is asked for, else the default', () => {
    expect(chooseOnnxRuntime('native', THERE)).toEqual({ implementation: 'native', fallbackReason: null })
    expect(chooseOnnxRuntime('worker', THERE)).toEqual({ implementation: 'worker', fallbackReason: null })
    expect(chooseOnnxRuntime(undefined, THERE)).toEqual({ implementation: 'native', fallbackReason: null })
  })

  it('runs on worker threads where the native parts are missing, and says why it is not the default', () => {
    expect(chooseOnnxRuntime('worker', MISSING)).toEqual({ implementation: 'worker', fallbackReason: null })
    expect(chooseOnnxRuntime(undefined, MISSING)).toEqual({ implementation: 'worker', fallbackReason: 'the addon is not built' })
  })

  it('refuses native where it cannot run, and other words', () => {
    expect(() => chooseOnnxRuntime('native', MISSING)).toThrow(/implementation=native cannot be had: the addon is not built\. Leave the setting out/)
    expect(() => chooseOnnxRuntime('fast', THERE)).toThrow('--backend-config=onnxruntime,implementation must be native or worker, got \'fast\'')
  })
})
