import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A model repository in a directory of its own: paths (relative) to contents. */
export class TemporaryRepository implements AsyncDisposable {
  readonly path: string

  private constructor(path: string) { this.path = path }

  static async create(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<TemporaryRepository> {
    const repository = new TemporaryRepository(await mkdtemp(join(tmpdir(), 'npu-console-test-')))
    await repository.write(files)
    return repository
  }

  async write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(this.path, name)), { recursive: true })
      await writeFile(join(this.path, name), content)
    }
  }

  async remove(name: string): Promise<void> { await rm(join(this.path, name), { recursive: true, force: true }) }

  async [Symbol.asyncDispose](): Promise<void> { await rm(this.path, { recursive: true, force: true }) }
}

/** config.pbtxt of an identity model with one FP32 tensor of 4 elements; `more` is put at the end. */
export function identityConfig(more = '', maxBatchSize = 8): string {
  return `backend: "identity"
max_batch_size: ${maxBatchSize}
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 4 ] } ]
${more}
`
}
