/** Absolute paths of model files: the model then runs only on the machine and in the folder that it was written for. */
import type { ConfigFix, TextEdit } from '../../contract/config-language.ts'
import type { PythonNode, PythonSource } from '../python-source.ts'
import type { CodeContext } from '../../contract/model-code.ts'
import { argsNameAt, importEdits, otherFix, preferredFix, replaceNode, say, utilsName } from './code-rule.ts'
import type { CodeFinding, CodeRule } from './code-rule.ts'

const MODEL_FILE = /^\/.*\.(?:om|onnx|pt|pth|torchscript|safetensors|mindir|air|pdmodel|pdiparams|engine|plan)$/i
/** Lists and tables count where the path itself is that of a repository. */
const REPOSITORY_FILE = /^(?:\/models|\/model_repository|\/opt\/tritonserver|\/.*\/\d+)\/.*\.(?:txt|json|ya?ml|npy|npz|bin|pkl|model|vocab)$/i

export const PATH_RULES: readonly CodeRule[] = [{ codes: ['absolute-model-path'], check: absolutePaths }]

function* absolutePaths(source: PythonSource, context: CodeContext): Generator<CodeFinding> {
  for (const node of source.all('String')) {
    const path = source.stringValue(node)
    if (path === null || !(MODEL_FILE.test(path) || REPOSITORY_FILE.test(path)) || !isValue(node)) continue
    const fileName = path.slice(path.lastIndexOf('/') + 1)
    yield {
      code: 'absolute-model-path', severity: 'warning', start: node.from, end: node.to,
      message: say(
        `The path ${path} is that of one machine, so the model does not load elsewhere. Put ${fileName} beside model.py and name it relative to the version directory.`,
        `路径 ${path} 只在某一台机器上有效，换一台机器模型就无法加载。把 ${fileName} 放在 model.py 旁边，并相对版本目录来写。`),
      fixes: pathFixes(source, node, path, fileName, context),
    }
  }
}

/** An argument or what is assigned; not a comparison, a key or a docstring. */
function isValue(node: PythonNode): boolean {
  const parent = node.parent?.name
  return parent === 'ArgList' || parent === 'ParamList' || (parent === 'AssignStatement' && node.prevSibling?.name === 'AssignOp')
}

function pathFixes(source: PythonSource, node: PythonNode, path: string, fileName: string, context: CodeContext): ConfigFix[] {
  const args = argsNameAt(source, node)
  const utils = utilsName(source)
  const isInModelDirectory = context.versionFiles?.includes(fileName) !== true && context.modelFiles?.includes(fileName) === true
  const rest = isInModelDirectory ? [fileName] : belowVersion(path, fileName)
  const names = rest.map((name) => JSON.stringify(name)).join(', ')
  const base = args !== null ? (isInModelDirectory ? `${args}["model_repository"]` : `${args}["model_repository"], ${args}["model_version"]`)
    : utils !== null ? (isInModelDirectory ? `os.path.dirname(${utils}.get_model_dir())` : `${utils}.get_model_dir()`) : null
  if (base === null) return []
  const edits: TextEdit[] = [replaceNode(node, `os.path.join(${base}, ${names})`), ...(source.imports.get('os') === 'os' ? [] : importEdits(source, 'import os'))]
  const titles: readonly [string, string] = isInModelDirectory
    ? [`Name ${fileName} relative to the model's directory`, `相对模型目录来写 ${fileName}`]
    : [`Name ${rest.join('/')} relative to the version directory`, `相对版本目录来写 ${rest.join('/')}`]
  // Only where the file is there is it certain that the model loads afterwards.
  const isThere = isInModelDirectory || (rest.length === 1 && context.versionFiles?.includes(fileName) === true)
  return [isThere ? preferredFix(...titles, edits) : otherFix(...titles, edits)]
}

/** `/models/ocr/1/weights/model.om` is `weights/model.om` in its version directory. */
function belowVersion(path: string, fileName: string): string[] {
  const parts = path.split('/')
  const version = parts.findLastIndex((part) => /^\d+$/.test(part))
  const below = version === -1 ? [] : parts.slice(version + 1).filter((part) => part !== '' && part !== '.')
  return below.length === 0 || below.includes('..') ? [fileName] : below
}
