import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../contract/model-config.ts'
import { inferBackend } from './infer-backend.ts'
import type { VersionEntry } from './infer-backend.ts'
import { emptyModelConfig } from './read-config.ts'

function infer(config: Partial<ModelConfig>, entries: readonly VersionEntry[] = [], name = 'm'): [string, string, string] {
  const result = inferBackend({ ...emptyModelConfig(), ...config }, name, entries)
  return [result.backend, result.platform, result.default_model_filename]
}

const file = (name: string): VersionEntry => ({ name, isDirectory: false })
const directory = (name: string): VersionEntry => ({ name, isDirectory: true })

describe('inferBackend', () => {
  test.each<[VersionEntry, [string, string, string]]>([
    [file('model.onnx'), ['onnxruntime', 'onnxruntime_onnx', 'model.onnx']],
    [directory('model.onnx'), ['onnxruntime', 'onnxruntime_onnx', 'model.onnx']],
    [file('model.py'), ['python', '', 'model.py']],
    [file('model.plan'), ['tensorrt', 'tensorrt_plan', 'model.plan']],
    [file('model.pt'), ['pytorch', 'pytorch_libtorch', 'model.pt']],
    [file('model.pt2'), ['pytorch', 'torch_aoti', 'model.pt2']],
    [file('model.graphdef'), ['tensorflow', 'tensorflow_graphdef', 'model.graphdef']],
    [directory('model.savedmodel'), ['tensorflow', 'tensorflow_savedmodel', 'model.savedmodel']],
    [file('model.xml'), ['openvino', '', 'model.xml']],
  ])('from %o', (entry, expected) => {
    expect(infer({}, [file('readme.txt'), entry])).toEqual(expected)
  })

  test.each([directory('model.py'), directory('model.plan'), file('model.savedmodel'), directory('model.graphdef')])('not from %o', (entry) => {
    expect(() => infer({}, [entry])).toThrow('Invalid model name')
  })

  test.each([
    ['onnxruntime_onnx', ['onnxruntime', 'onnxruntime_onnx', 'model.onnx']], ['tensorrt_plan', ['tensorrt', 'tensorrt_plan', 'model.plan']],
    ['libtorch', ['pytorch', 'libtorch', 'model.pt']], ['torch_aoti', ['pytorch', 'torch_aoti', 'model.pt2']],
    ['tensorflow_savedmodel', ['tensorflow', 'tensorflow_savedmodel', 'model.savedmodel']],
  ])('from the platform %s', (platform, expected) => {
    expect(infer({ platform })).toEqual(expected)
  })

  test('from default_model_filename', () => {
    expect(infer({ default_model_filename: 'model.onnx' })).toEqual(['onnxruntime', 'onnxruntime_onnx', 'model.onnx'])
  })

  test('a known backend gets its platform and file name, a given file name stays', () => {
    expect(infer({ backend: 'onnxruntime' })).toEqual(['onnxruntime', 'onnxruntime_onnx', 'model.onnx'])
    expect(infer({ backend: 'onnxruntime', default_model_filename: 'net.onnx' })).toEqual(['onnxruntime', 'onnxruntime_onnx', 'net.onnx'])
    expect(infer({ backend: 'pytorch' }, [file('model.pt2')])).toEqual(['pytorch', 'torch_aoti', 'model.pt2'])
    expect(infer({ backend: 'tensorflow' }, [file('model.graphdef')])).toEqual(['tensorflow', 'tensorflow_graphdef', 'model.graphdef'])
  })

  test('the order of trying decides between several files', () => {
    expect(infer({}, [file('model.onnx'), file('model.plan'), file('model.py')])[0]).toBe('tensorrt')
  })

  test('a custom backend stays as it is, with any platform', () => {
    expect(infer({ backend: 'npu_ge', platform: 'onnxruntime_onnx' }, [file('model.onnx')])).toEqual(['npu_ge', 'onnxruntime_onnx', ''])
    expect(infer({ backend: 'identity' })).toEqual(['identity', '', ''])
  })

  test('the model name gives the backend behind its first dot', () => {
    expect(infer({}, [], 'net.identity')).toEqual(['identity', '', 'model.identity'])
    expect(infer({}, [], 'a.b.c')).toEqual(['b.c', '', 'model.b.c'])
  })

  test('without any hint the model is refused', () => {
    expect(() => infer({}, [], 'net')).toThrow(expect.objectContaining({
      kind: 'INVALID_ARG',
      message: 'Invalid model name: Could not determine backend for model \'net\' with no backend in model configuration. Expected model name of the form '
        + '\'model.<backend_name>\'.',
    }) as Error)
  })

  test('an ensemble needs none, an unknown platform is left for validation', () => {
    expect(infer({ platform: 'ensemble' }, [file('model.onnx')])).toEqual(['', 'ensemble', ''])
    expect(infer({ platform: 'foo' })).toEqual(['', 'foo', ''])
  })

  test('fills the name from the directory only where it is empty', () => {
    expect(inferBackend({ ...emptyModelConfig(), backend: 'x' }, 'dir', []).name).toBe('dir')
    expect(inferBackend({ ...emptyModelConfig(), backend: 'x', name: 'own' }, 'dir', []).name).toBe('own')
  })
})
