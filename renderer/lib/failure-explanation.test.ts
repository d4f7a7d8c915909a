import { describe, expect, it } from 'vitest'
import { explainFailure, formatPlace, isConfigFailure } from './failure-explanation.ts'

describe('explainFailure', () => {
  it.each([
    ['backendMissing', "Invalid argument: unable to find backend library for backend 'tensorrt', try specifying runtime on the model configuration.", { backend: 'tensorrt' }],
    ['directoryName', "unexpected directory name 'ocr' for model 'rec', directory name must equal model name", { directory: 'ocr', name: 'rec' }],
    ['noVersion', "at least one version must be available under the version policy of model 'a'", {}],
    ['fileMissing', "unable to find '/models/a/1/model.onnx' for model 'a'", { file: '/models/a/1/model.onnx' }],
    ['fileDamaged', 'Internal: onnx runtime error: Load model from /models/a/1/model.onnx failed:Protobuf parsing failed.', {}],
    ['fileDamaged', "Invalid argument: Cannot read the ONNX model '/models/a/1/model.onnx': The file is not an ONNX model: it is cut off: byte 10 is needed, 2 are there.", { file: '/models/a/1/model.onnx' }],
    ['opsetTooNew', 'ONNX Runtime only *guarantees* support for models stamped with official released onnx opset versions. Opset 30 is under development. Current official support for domain ai.onnx is till opset 26.', { supported: '26' }],
    ['noBatching', "autofill failed for model 'a': model does not support batching while non-zero max_batch_size is specified", {}],
    ['tensorName', "unexpected inference input 'y', allowed inputs are: A, B", { tensor: 'y', allowed: 'A, B' }],
    ['gpu', 'instance group a_0 of model a has kind KIND_GPU but server does not support GPUs', {}],
    ['unsupportedField', "model 'a' sets sequence_batching: this version cannot run sequence batching. Remove the field", { field: 'sequence_batching' }],
  ])('finds %s', (cause, text, facts) => {
    const explanation = explainFailure(text)
    expect(explanation.cause).toBe(cause)
    expect(explanation.facts).toEqual(facts)
  })

  it('reads line and column of a syntax error', () => {
    const { cause, place, facts } = explainFailure('Error parsing text-format inference.ModelConfig: 9:13: Expected ",", found "}".')
    expect(cause).toBe('configSyntax')
    expect(facts).toEqual({ text: 'Expected ",", found "}".' })
    expect(place && formatPlace(place)).toBe('config.pbtxt:9:13')
  })

  const parsing = (text: string) => explainFailure(`failed to read text proto from /m/a/config.pbtxt: Error parsing text-format inference.ModelConfig: 2:14: ${text}`)
  it.each([
    ['configField', 'Message type "inference.ModelConfig" has no field named "max_batchsize".', { message: 'inference.ModelConfig', field: 'max_batchsize' }],
    ['configTwice', 'Non-repeated field "max_batch_size" is specified multiple times.', { field: 'max_batch_size' }],
    ['configValue', 'Expected integer, got: "four"', { text: 'Expected integer, got: "four"' }],
    ['configCutOff', 'Expected identifier, got: ', {}],
    ['configCutOff', 'Expected "}", found "".', {}],
    ['configCutOff', 'Expected string, got: ', {}],
    ['configSyntax', 'Expected identifier, got: }', { text: 'Expected identifier, got: }' }],
  ])('tells the errors of a config apart: %s', (cause, text, facts) => {
    expect(parsing(text)).toMatchObject({ cause, facts, place: { file: 'config.pbtxt', line: 2, column: 14 } })
    expect(isConfigFailure(parsing(text))).toBe(true)
  })

  it('speaks of the number of axes only where it differs', () => {
    expect(explainFailure("model 'a', tensor 'x': the model expects 4 dimensions (shape [-1,3,-1,-1]) but the model configuration specifies 4 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,5,5,5])"))
      .toMatchObject({ cause: 'tensorShape', expected: '[-1,3,-1,-1]', found: '[-1,5,5,5]' })
  })

  it('sets expected against found for datatypes and shapes', () => {
    expect(explainFailure("unable to load model 'a', configuration expects datatype TYPE_INT32 for input 'x', model provides TYPE_FP32")).toMatchObject({ cause: 'datatype', expected: 'TYPE_INT32', found: 'TYPE_FP32', facts: { tensor: 'x' } })
    expect(explainFailure("model 'a', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the model configuration specifies 3 dimensions (an initial batch dimension because max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,-1,3])"))
      .toMatchObject({ cause: 'batchAxis', expected: '[-1,3]', found: '[-1,-1,3]' })
  })

  it('knows what is mended in the config and what in the files', () => {
    expect(isConfigFailure(explainFailure('instance group a_0 has kind KIND_GPU but no GPUs are available'))).toBe(true)
    expect(isConfigFailure(explainFailure('something odd (config.pbtxt:3)'))).toBe(true)
    expect(isConfigFailure(explainFailure("unable to find '/models/a/1/model.onnx' for model 'a'"))).toBe(false)
    expect(isConfigFailure(explainFailure('Internal: something new'))).toBe(false)
  })

  it('leaves unknown texts to speak for themselves', () => {
    expect(explainFailure('Internal: something new')).toEqual({ cause: null, facts: {}, place: null, expected: null, found: null })
  })

  it('names what a model.py raised, the module that it misses, and a process that ended', () => {
    const at = '\n\nAt:\n  /models/m/1/model.py(8): initialize\n'
    expect(explainFailure(`Internal: RuntimeError: no weights${at}`)).toMatchObject({ cause: 'pythonError', facts: { error: 'RuntimeError: no weights' }, place: null })
    expect(explainFailure(`Internal: FileNotFoundError: [Errno 2] No such file or directory: 'x'${at}`)).toMatchObject({ cause: 'pythonError' })
    expect(explainFailure(`Internal: ModuleNotFoundError: No module named 'a.b'${at}`)).toMatchObject({ cause: 'pythonModule', facts: { module: 'a.b' } })
    expect(explainFailure("Internal: Stub process 'm_0' is not healthy. It was killed by SIGKILL.")).toMatchObject({ cause: 'pythonEnded' })
    expect(explainFailure("Unavailable: model 'm' runs Python code with your rights, and its repository '/models' is not trusted: trust it")).toMatchObject({ cause: 'notTrusted', facts: { repository: '/models' } })
  })
})
