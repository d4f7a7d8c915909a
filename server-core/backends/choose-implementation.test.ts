import { expect, it } from 'vitest'
import { chooseImplementation } from './choose-implementation.ts'

it.each([
  ['identity', true, null, 'builtIn'], ['onnxruntime', true, 'server', 'builtIn'], ['identity', true, 'model', 'native'], ['identity', true, 'backendDirectory', 'native'],
  ['npu_ge', false, 'server', 'native'], ['nowhere', false, null, 'native'],
] as const)('%s, built in: %s, library: %s -> %s', (name, isBuiltIn, library, expected) => {
  expect(chooseImplementation({ name, isBuiltIn, library, backendConfig: {} })).toBe(expected)
})
