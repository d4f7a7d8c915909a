/** A review as the server makes it, for tests of the import card. */
import type { ModelImportReview } from '../../server-core/contract/console-api.ts'

export function importReview(part: Partial<ModelImportReview> = {}): ModelImportReview {
  return {
    kind: 'onnx', modelName: 'rec', fileName: 'rec.onnx', byteSize: 3, backend: 'onnxruntime', backends: [{ name: 'onnxruntime', isHere: true }, { name: 'npu_ge', isHere: false }], opset: 14,
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }], outputs: [], signature: 'complete', signatureReason: null, configText: 'backend: "onnxruntime"\n', isConfigGenerated: true,
    files: [{ path: '1/model.onnx', byteSize: 3 }], leftOut: [], missingFiles: [], existingModel: null, isLocal: false, awaitsTrust: null, ...part,
  }
}
