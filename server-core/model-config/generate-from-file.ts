/** A config.pbtxt for a model file. Only an .om file needs a runtime for that: CANN, in a process of its own. */
import { basename, dirname, extname } from 'node:path'
import type { DataTypeConfigName } from '../contract/inference.ts'
import type { ModelConfig, ModelInput, ModelOutput } from '../contract/model-config.ts'
import { ServerError } from '../server-error.ts'
import { emptyDynamicBatching } from './auto-complete.ts'
import { generateOnnxConfig, printNewConfig } from './generate-config.ts'
import { generateOmConfig } from './om-config.ts'
import { omReader } from './om-passport.ts'
import type { OmReader } from './om-passport.ts'
import { readOnnxSignature } from './onnx-signature.ts'
import { readPythonSignature } from './python-signature.ts'
import type { PythonSignature, PythonSignatureOptions } from './python-signature.ts'
import { emptyModelConfig } from './read-config.ts'

/** Backends that a config can be generated for, and the files they take. */
export const GENERATOR_BACKENDS: Readonly<Record<string, { readonly extension: string; readonly filename: string }>> = {
  onnxruntime: { extension: '.onnx', filename: 'model.onnx' },
  npu_ge: { extension: '.onnx', filename: 'model.onnx' },
  npu_om: { extension: '.om', filename: 'model.om' },
  python: { extension: '.py', filename: 'model.py' },
}

export interface GenerateFromFileOptions extends PythonSignatureOptions {
  /** Default: asks the CANN that this process's environment leads to. */
  readonly readOm?: OmReader
}

/**
 * @param path the model file; where it lies in a version folder under another name than the backend looks for, the config names it
 * @throws ServerError UNSUPPORTED for a file or backend that cannot be described here (an .om file without CANN), INVALID_ARG for one that does not fit or is broken
 */
export async function generateConfigFromFile(path: string, backend: string, options: GenerateFromFileOptions = {}): Promise<string> {
  const target = Object.hasOwn(GENERATOR_BACKENDS, backend) ? GENERATOR_BACKENDS[backend] : undefined
  if (target === undefined) {
    throw new ServerError('UNSUPPORTED', `No config can be made for the backend '${backend}'. Possible: ${Object.keys(GENERATOR_BACKENDS).join(', ')}.`)
  }
  const extension = extname(path).toLowerCase()
  if (extension !== target.extension) {
    throw new ServerError('INVALID_ARG', `The backend '${backend}' takes ${target.extension} files, and '${basename(path)}' is none.`)
  }
  const filename = basename(path)
  const isInVersion = /^\d+$/.test(basename(dirname(path)))
  const defaultModelFilename = isInVersion && filename !== target.filename ? filename : ''
  if (backend === 'npu_om') return generateOmConfig(await (options.readOm ?? omReader())(path), path, defaultModelFilename)
  if (backend === 'python') return generatePythonConfig(await readPythonSignature(path, options), path, defaultModelFilename)
  const signature = await readOnnxSignature(path)
  const unserved = [...signature.inputs, ...signature.outputs].find(({ datatype }) => datatype === null)
  if (unserved !== undefined) {
    const what = unserved.kind === 'tensor' ? `the element type ${unserved.elementType}` : `the kind '${unserved.kind}'`
    throw new ServerError('UNSUPPORTED', `'${path}' cannot be served: its tensor '${unserved.name}' has ${what}, which the protocol does not know.`)
  }
  return generateOnnxConfig(signature, { backend, defaultModelFilename })
}

/**
 * @param path named in errors only
 * @throws ServerError INVALID_ARG where no tensor is known, not even by name
 */
export function generatePythonConfig(signature: PythonSignature, path: string, defaultModelFilename: string): string {
  const { declared, namesInCode, reason } = signature
  const base = { ...emptyModelConfig(), backend: 'python', default_model_filename: defaultModelFilename }
  if (declared !== null && (declared.inputs.length > 0 || declared.outputs.length > 0)) {
    const config: ModelConfig = {
      ...base,
      max_batch_size: declared.maxBatchSize,
      input: declared.inputs.map((tensor) => inputOf(tensor.name, tensor.dataType, tensor.dims, tensor.isOptional)),
      output: declared.outputs.map((tensor) => outputOf(tensor.name, tensor.dataType, tensor.dims)),
      ...(declared.isDynamicBatching ? { dynamic_batching: emptyDynamicBatching() } : {}),
      ...(declared.isDecoupled ? { model_transaction_policy: { decoupled: true } } : {}),
    }
    const undeclared = namesInCode.inputs.filter((name) => !declared.inputs.some((tensor) => tensor.name === name))
    return printNewConfig(config, { tensors: undeclared.map((name) => `model.py also asks for ${JSON.stringify(name)}, which its auto_complete_config does not declare.`) })
  }
  if (namesInCode.inputs.length === 0 && namesInCode.outputs.length === 0) {
    throw new ServerError('INVALID_ARG', `'${path}' does not say which tensors it has: ${reason ?? 'its auto_complete_config declares none'}, and its code asks for none by name.`)
  }
  const config: ModelConfig = {
    ...base,
    input: namesInCode.inputs.map((name) => inputOf(name, 'TYPE_FP32', [-1], false)),
    output: namesInCode.outputs.map((name) => outputOf(name, 'TYPE_FP32', [-1])),
  }
  return printNewConfig(config, {
    tensors: [`Only the names are known (${reason ?? 'auto_complete_config declares no tensors'}):`, 'put in the data_type and dims of each tensor.'],
  })
}

function inputOf(name: string, dataType: DataTypeConfigName, dims: readonly number[], optional: boolean): ModelInput {
  return {
    name, data_type: dataType, format: 'FORMAT_NONE', dims: [...dims], is_shape_tensor: false, allow_ragged_batch: false, optional, is_non_linear_format_io: false,
  }
}

function outputOf(name: string, dataType: DataTypeConfigName, dims: readonly number[]): ModelOutput {
  return { name, data_type: dataType, dims: [...dims], label_filename: '', is_shape_tensor: false, is_non_linear_format_io: false }
}
