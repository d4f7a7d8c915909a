/** What the code view asks for: the model.py of a version, and saving it. */
import type { CodeFile, CodeSaveResult } from '../../contract/model-code.ts'
import type { InferenceServer } from '../../inference-server.ts'
import { readConfigFile, writeConfigFile } from '../../model-repository/config-file.ts'
import { findModelCode } from '../../model-repository/model-code-files.ts'
import type { ModelCodeFile } from '../../model-repository/model-code-files.ts'
import { ServerError } from '../../server-error.ts'

/**
 * @param version null: the newest that has a model.py
 * @throws ServerError NOT_FOUND where there is no such file; INVALID_ARG for one that is no text
 */
export async function openCode(server: InferenceServer, name: string, version: number | null): Promise<CodeFile> {
  const { file, all } = await codeOf(server, name, version)
  const { text, hash } = await readConfigFile(file.path)
  if (text === null || hash === null) throw missing(name, version)
  return { path: file.path, name: file.name, version: file.version, versions: all.map((other) => other.version), text, hash, context: file.context }
}

/**
 * Saves, and has the server look at the model again; a load then runs the new code.
 * @param baseHash of the file that was opened; another one on disk is a conflict
 */
export async function saveCode(server: InferenceServer, name: string, version: number, text: string, baseHash: string): Promise<CodeSaveResult> {
  const { file } = await codeOf(server, name, version)
  const repositoryPath = server.modelSummaries().find((model) => model.name === name)?.repositoryPath
  if (repositoryPath === undefined) throw new ServerError('NOT_FOUND', `no model '${name}' in the repository`)
  const result = await writeConfigFile({ modelDirectory: server.modelDirectory(name), repositoryPath, fileName: file.name, text, baseHash })
  if (result.kind === 'conflict') return { kind: 'conflict', currentText: result.current.text, currentHash: result.current.hash }
  await server.rescan()
  return { kind: 'saved', hash: result.hash ?? '' }
}

async function codeOf(server: InferenceServer, name: string, version: number | null): Promise<{ readonly file: ModelCodeFile; readonly all: readonly ModelCodeFile[] }> {
  const all = await findModelCode(server.modelDirectory(name))
  const file = version === null ? all.at(-1) : all.find((other) => other.version === version)
  if (file === undefined) throw missing(name, version)
  return { file, all }
}

function missing(name: string, version: number | null): ServerError {
  return new ServerError('NOT_FOUND', version === null ? `model '${name}' has no model.py in any version: put it into a folder with a number, such as ${name}/1` : `model '${name}' has no model.py in version ${version}`)
}
