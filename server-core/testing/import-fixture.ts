/** Small model files for tests of imports, each of a kind, and a folder to put them in. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bytesField, onnxModel, valueInfo } from '../model-config/test-onnx.ts'

export const ONNX_FILE = onnxModel({ inputs: [valueInfo('x', 1, ['batch', 3, null])], outputs: [valueInfo('y', 7, ['batch'])] })
/** The start of a compiled model; what follows is read by the Ascend runtime only. */
export const OM_FILE = Buffer.concat([Buffer.from('IMOD'), Buffer.alloc(252)])
export const PYTHON_FILE = `import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "TEXT", "data_type": "TYPE_STRING", "dims": [1]})
        config.add_output({"name": "SCORE", "data_type": "TYPE_FP32", "dims": [2]})
        return config
`

/** A model whose weights lie in these files beside it. */
export function onnxWithExternalData(...locations: readonly string[]): Buffer {
  return onnxModel({
    inputs: [valueInfo('x', 1, [1])], outputs: [],
    initializers: locations.map((location, index) => Buffer.concat([bytesField(8, `w${index}`), bytesField(13, bytesField(1, 'location'), bytesField(2, location))])),
  })
}

/** A folder with a repository and a place for the files that are imported. */
export class ImportFolder implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'model-import-'))
  readonly repository = join(this.root, 'repository')

  constructor() {
    mkdirSync(this.repository)
  }

  /** Writes files below the root and returns the path of the first. */
  write(files: Readonly<Record<string, string | Uint8Array>>): string {
    for (const [name, data] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, name)), { recursive: true })
      writeFileSync(join(this.root, name), data)
    }
    return join(this.root, Object.keys(files)[0] ?? '')
  }

  /** Every file and folder below the repository, and what an import left beside it. */
  repositoryFiles(): string[] {
    const beside = readdirSync(this.root).filter((name) => name.startsWith('.'))
    return [...beside, ...readdirSync(this.repository, { recursive: true }).map(String)].toSorted()
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}
