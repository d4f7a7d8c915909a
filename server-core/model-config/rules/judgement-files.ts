/** Name, backend, versions and files: the config against the folder it lies in. */
import type { ConfigFix, TextEdit } from '../../contract/config-language.ts'
import type { ModelConfig } from '../../contract/model-config.ts'
import { BACKEND_RULES } from '../infer-backend.ts'
import { didYouMean } from './did-you-mean.ts'
import { editsInTurn } from './edits-in-turn.ts'
import { chosenVersions } from './file-signature.ts'
import { OWN_BACKENDS, backendOf, isEnsemble, isFolderKnown, isNpuBackend, namesText } from './judgement-view.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { ConfigRule, ConfigView, Finding } from './rule.ts'

const NAME: ConfigRule = {
  codes: ['name-differs-from-folder'],
  * check(view) {
    const folder = view.context.modelName
    const name = view.config?.name ?? ''
    if (folder === null || name === '' || name === folder) return
    yield {
      code: 'name-differs-from-folder', severity: 'error', path: ['name'],
      serverText: `unexpected directory name '${folder}' for model '${name}', directory name must equal model name`,
      message: say(`The name '${name}' differs from the model's folder '${folder}'. They must be equal, or the name left out.`,
        `名称 '${name}' 与模型文件夹 '${folder}' 不同。两者必须一致，或者不写 name。`),
      fixes: [
        preferredFix(`Rename to '${folder}'`, `改名为 '${folder}'`, view.edit.setField(['name'], folder)),
        otherFix('Remove the name: the folder gives it', '删除 name：由文件夹决定', view.edit.removeField(['name'])),
      ],
    }
  },
}

const BACKEND: ConfigRule = {
  codes: ['backend-not-installed', 'foreign-platform'],
  * check(view) {
    const { config, context } = view
    if (config === null) return
    const backend = backendOf(view)
    yield* foreignPlatform(view, config, backend)
    if (context.backends === null || backend === '' || isEnsemble(config) || context.backends.includes(backend)) return
    const path = [config.backend !== '' ? 'backend' : config.platform !== '' ? 'platform' : 'default_model_filename']
    const serverText = `unable to find backend library for backend '${backend}', try specifying runtime on the model configuration.`
    const installed = { en: namesText(context.backends, 'en'), zh: namesText(context.backends, 'zh-CN') }
    if (OWN_BACKENDS.includes(backend)) {
      yield {
        code: 'backend-not-installed', severity: 'warning', path, serverText,
        message: say(`The backend '${backend}' is not installed here, so this model loads only on a machine that has it. Installed: ${installed.en}.`,
          `本机没有安装后端 '${backend}'，该模型只能在装有它的机器上加载。已安装：${installed.zh}。`),
      }
      return
    }
    const near = didYouMean(backend, [...context.backends, ...OWN_BACKENDS])
    const use = (name: string): TextEdit[] => editsInTurn(view, [
      (edit) => edit.setField(['backend'], name),
      (edit) => (config.platform === '' ? [] : edit.removeField(['platform'])),
    ])
    const others = context.backends.filter((name) => name !== near && name !== 'identity')
    // What lies in the version folders says which one is meant.
    const fitting = others.filter((name) => chosenVersions(config, context).some(({ files }) => files.some((file) => MODEL_FILES[name]?.some((ending) => file.endsWith(ending)) === true)))
    // Several: the one that needs no card runs on every machine.
    const anywhere = fitting.filter((name) => !isNpuBackend(name))
    const sure = fitting.length === 1 ? fitting : anywhere
    const meant = near === undefined && sure.length === 1 ? sure[0] : undefined
    yield {
      code: 'backend-not-installed', severity: 'error', path, serverText,
      message: say(`There is no backend '${backend}' here.${near === undefined ? '' : ` Did you mean '${near}'?`} Installed: ${installed.en}.`,
        `没有后端 '${backend}'。${near === undefined ? '' : `是否指 '${near}'？`}已安装：${installed.zh}。`),
      fixes: [
        ...(near === undefined ? [] : [preferredFix(`Use '${near}'`, `使用 '${near}'`, use(near))]),
        ...[...others.filter((name) => name === meant), ...others.filter((name) => name !== meant)].slice(0, 5).map((name) => (name === meant ? preferredFix : otherFix)(`Use '${name}'`, `使用 '${name}'`, use(name))),
      ],
    }
  },
}

/** A platform that is another backend's: accepted with a custom backend, and shown to clients. */
function* foreignPlatform(view: ConfigView, config: ModelConfig, backend: string): Generator<Finding> {
  if (config.platform === '' || config.backend === '' || config.platform === 'ensemble') return
  const owner = BACKEND_RULES.find((rule) => rule.platform === config.platform || rule.aliases?.includes(config.platform) === true)
  if (owner === undefined || owner.backend === backend || BACKEND_RULES.some((rule) => rule.backend === backend && rule.platform !== '')) return
  yield {
    code: 'foreign-platform', severity: 'info', path: ['platform'],
    message: say(`The platform '${config.platform}' belongs to the backend '${owner.backend}'. It is accepted, and clients see it, but '${backend}' serves the model.`,
      `平台 '${config.platform}' 属于后端 '${owner.backend}'。可以使用，客户端会看到它，但实际由 '${backend}' 提供服务。`),
    fixes: [otherFix('Remove the platform', '删除 platform', view.edit.removeField(['platform']))],
  }
}

const VERSIONS: ConfigRule = {
  codes: ['version-not-there', 'no-version-chosen', 'no-version-folder'],
  * check(view) {
    const { config, context } = view
    if (config === null || (context.versions.length === 0 && !isFolderKnown(view))) return
    const available = context.versions.map(({ version }) => version).toSorted((a, b) => a - b)
    const serverText = `at least one version must be available under the version policy of model '${view.modelName}'`
    if (available.length === 0) {
      yield {
        code: 'no-version-folder', severity: 'error', path: [], serverText,
        message: isEnsemble(config)
          ? say('The ensemble has no version folder: make an empty one named 1.', '该 ensemble 没有版本文件夹：请新建一个名为 1 的空文件夹。')
          : say('The model has no version folder: put the model file into one named 1.', '模型没有版本文件夹：请把模型文件放进名为 1 的文件夹。'),
      }
      return
    }
    yield* latestFindings(view, config, serverText)
    yield* specificFindings(view, config, available, serverText)
  },
}

function* latestFindings(view: ConfigView, config: ModelConfig, serverText: string): Generator<Finding> {
  if (config.version_policy?.latest?.num_versions !== 0) return
  yield {
    code: 'no-version-chosen', severity: 'error', path: ['version_policy', 'latest'], serverText,
    message: say('latest without num_versions means 0 versions: nothing would be loaded.', 'latest 没有写 num_versions 就是 0 个版本：什么都不会加载。'),
    fixes: [preferredFix('Set num_versions: 1', '设为 num_versions: 1', view.edit.setField(['version_policy', 'latest', 'num_versions'], 1))],
  }
}

function* specificFindings(view: ConfigView, config: ModelConfig, available: readonly number[], serverText: string): Generator<Finding> {
  const wanted = config.version_policy?.specific?.versions
  if (wanted === undefined) return
  const path = ['version_policy', 'specific', 'versions']
  const isThere = new Set(available)
  const there = wanted.filter((version) => isThere.has(version))
  let count = 0
  const newest = available.at(-1) ?? 1
  if (wanted.length === 0) {
    yield {
      code: 'no-version-chosen', severity: 'error', path: ['version_policy', 'specific'], serverText,
      message: say('specific names no version: nothing would be loaded.', 'specific 没有列出任何版本：什么都不会加载。'),
      fixes: [preferredFix(`List version ${newest}`, `列出版本 ${newest}`, view.edit.setField(path, [newest]))],
    }
    return
  }
  for (const [index, version] of wanted.entries()) {
    if (isThere.has(version)) continue
    if (++count > MOST_FINDINGS) return
    const isOnly = there.length === 0
    const fix = isOnly
      ? preferredFix(`Use version ${newest}`, `使用版本 ${newest}`, view.edit.setField(path, [newest]))
      : preferredFix(`Remove version ${version}`, `删除版本 ${version}`, view.edit.removeItem(path, index))
    yield {
      code: 'version-not-there', severity: isOnly ? 'error' : 'warning', path: [...path, index], ...(isOnly ? { serverText } : {}),
      message: say(`The version policy names version ${version}, which is not there. On disk: ${available.join(', ')}.`,
        `版本策略指定了版本 ${version}，但磁盘上没有。现有：${available.join('、')}。`),
      fixes: [fix, ...(isOnly ? [otherFix('Load all versions', '加载所有版本', view.edit.setField(['version_policy'], { all: {} }))] : [])],
    }
  }
}

/** Nobody reads more; looking for similar names takes time. */
const MOST_FINDINGS = 100

/** Endings of files that a backend runs. */
const MODEL_FILES: Readonly<Record<string, readonly string[]>> = {
  onnxruntime: ['.onnx'], npu_ge: ['.onnx', '.pb', '.air'], npu_om: ['.om'], python: ['.py'], tensorrt: ['.plan'], pytorch: ['.pt', '.pt2'],
  openvino: ['.xml'], tensorflow: ['.graphdef', '.savedmodel'],
}

/** Files that the backends look for by themselves. */
const DEFAULT_FILES: Readonly<Record<string, string>> = { onnxruntime: 'model.onnx', python: 'model.py' }

const MODEL_FILE: ConfigRule = {
  codes: ['model-file-missing', 'several-model-files'],
  * check(view) {
    const { config, context } = view
    if (config === null || isEnsemble(config)) return
    const backend = backendOf(view)
    const endings = MODEL_FILES[backend]
    if (endings === undefined) return
    const wanted = config.default_model_filename !== '' ? config.default_model_filename : DEFAULT_FILES[backend]
    for (const { version, files } of chosenVersions(view.normalized ?? config, context)) {
      const candidates = files.filter((file) => endings.some((ending) => file.endsWith(ending)))
      const fixes = candidates.slice(0, 6).map((file): ConfigFix =>
        (candidates.length === 1 ? preferredFix : otherFix)(`Use '${file}'`, `使用 '${file}'`, view.edit.setField(['default_model_filename'], file)))
      if (wanted !== undefined && !isThere(wanted, files)) {
        yield {
          code: 'model-file-missing', severity: 'error', path: ['default_model_filename'], fixes,
          message: say(`Version ${version} has no '${wanted}'.${candidates.length === 0 ? '' : ` It has ${namesText(candidates, 'en')}.`}`,
            `版本 ${version} 中没有 '${wanted}'。${candidates.length === 0 ? '' : `其中有 ${namesText(candidates, 'zh-CN')}。`}`),
        }
        return
      }
      if (config.default_model_filename === '' && candidates.length > 1) {
        const which = wanted === undefined ? { en: 'the first one is used', zh: '将使用第一个' } : { en: `'${wanted}' is used`, zh: `将使用 '${wanted}'` }
        yield {
          code: 'several-model-files', severity: 'warning', path: ['default_model_filename'],
          message: say(`Version ${version} has several model files: ${namesText(candidates, 'en')}; ${which.en}. Name the one to serve.`,
            `版本 ${version} 中有多个模型文件：${namesText(candidates, 'zh-CN')}；${which.zh}。请指明要用哪一个。`),
          fixes: candidates.slice(0, 6).map((file) => otherFix(`Use '${file}'`, `使用 '${file}'`, view.edit.setField(['default_model_filename'], file))),
        }
        return
      }
    }
  },
}

/** A file further down cannot be seen from here, but its folder can. */
function isThere(wanted: string, files: readonly string[]): boolean {
  const place = normalPath(wanted)
  return place !== null && place !== '' && !wanted.startsWith('/') && files.includes(place.split('/')[0] ?? '')
}

const LABELS: ConfigRule = {
  codes: ['label-file-missing', 'label-file-outside'],
  * check(view) {
    const { config, context } = view
    if (config === null || !isFolderKnown(view)) return
    const known = Object.keys(context.files).slice(0, 300)
    const isThere = new Set(Object.keys(context.files))
    let count = 0
    for (const [index, { name, label_filename: file }] of config.output.entries()) {
      if (file === '') continue
      const place = normalPath(file)
      if (place !== null && isThere.has(place)) continue
      if (++count > MOST_FINDINGS) return
      const path = ['output', index, 'label_filename']
      const where = `'${file}' for output '${name}' in model '${view.modelName}'`
      const remove = otherFix('Serve without labels', '不使用标签', view.edit.removeField(path))
      if (place === null) {
        yield {
          code: 'label-file-outside', severity: 'error', path, serverText: `label file path ${where} is outside model directory`,
          message: say(`The label file '${file}' lies outside the model's folder.`, `标签文件 '${file}' 在模型文件夹之外。`), fixes: [remove],
        }
        continue
      }
      // Version folders are not in the list: what lies there cannot be judged.
      if (/^\d+\//.test(place)) continue
      const near = nearestFile(place, known)
      yield {
        code: 'label-file-missing', severity: 'error', path, serverText: `label file ${where} does not exist in the model directory`,
        message: say(`There is no label file '${file}' in the model's folder.${near === undefined ? '' : ` Did you mean '${near}'?`}`,
          `模型文件夹中没有标签文件 '${file}'。${near === undefined ? '' : `是否指 '${near}'？`}`),
        fixes: [...(near === undefined ? [] : [preferredFix(`Use '${near}'`, `使用 '${near}'`, view.edit.setField(path, near))]), remove],
      }
    }
  },
}

/** A relative path without `.` and `..`; null: it leads outside. */
export function normalPath(path: string): string | null {
  if (path.startsWith('/')) return null
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return null
  }
  return parts.join('/')
}

/** The file that was probably meant: the same name elsewhere, a similar one, or the only text file. */
export function nearestFile(path: string, known: readonly string[]): string | undefined {
  const base = path.slice(path.lastIndexOf('/') + 1)
  const ending = base.includes('.') ? base.slice(base.lastIndexOf('.')) : ''
  const sameEnding = known.filter((file) => file.endsWith(ending))
  return known.find((file) => file.slice(file.lastIndexOf('/') + 1) === base) ?? didYouMean(path, known) ?? (sameEnding.length === 1 ? sameEnding[0] : undefined)
}

export const FILE_RULES: readonly ConfigRule[] = [NAME, BACKEND, VERSIONS, MODEL_FILE, LABELS]
