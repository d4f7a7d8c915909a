/**
 * Renaming a tensor from any place that names it.
 *
 * Covered: an ensemble tensor in the ensemble's own config (its inputs and outputs, every value of `input_map` and `output_map`); a tensor of a
 * model that is no ensemble in its own config (declaration, batch inputs and outputs, sequence controls and states, warm-up, graph specs, the
 * Test tab's defaults), where its backend leaves the name open: `python`, and `identity` within its pattern and with the output of the same
 * number. Edits replace the strings alone and stay within the one file. Not covered: other files. Ensembles of the repository that map the
 * tensor are named in the notes, as is `model.py`, whose text nobody rewrites. A name that comes from a model file is refused, unless it is wrong
 * and the new one is the file's.
 */
import type { ConfigContext, LocalizedText, TextEdit } from '../contract/config-language.ts'
import { renderString } from './config-style.ts'
import { createConfigView } from './config-view.ts'
import { endAt, endsOfTensor, ensembleGraph, ensemblesThatMap, insideQuotes, memberLinkAt } from './ensemble-graph.ts'
import type { TensorRole } from './ensemble-graph.ts'
import type { PbtxtScalar, PbtxtSpan, PbtxtTree } from './pbtxt-tree.ts'
import { namesText } from './rules/judgement-view.ts'
import { say } from './rules/rule.ts'
import { tensorPlaces } from './tensor-places.ts'
import type { TensorPlace } from './tensor-places.ts'

export type RenameTarget =
  /** `span`: the name as it is written, without quotes. */
  | { readonly kind: 'tensor'; readonly name: string; readonly span: PbtxtSpan }
  | { readonly kind: 'refused'; readonly reason: LocalizedText }

export type Renaming =
  /** `notes`: what must follow elsewhere. */
  | { readonly kind: 'renamed'; readonly edits: readonly TextEdit[]; readonly notes: readonly LocalizedText[] }
  | { readonly kind: 'refused'; readonly reason: LocalizedText }

/** What a new name becomes, or why it cannot be. */
type NameCheck = (newName: string) => LocalizedText | null

/** All that is known about the tensor at a place before a new name is. */
interface Subject {
  readonly kind: 'subject'
  readonly name: string
  readonly literal: PbtxtScalar
  readonly prefix: string
  readonly refuses: NameCheck
  edits(newName: string): readonly TextEdit[]
  notes(newName: string): readonly LocalizedText[]
}

type Refusal = Extract<RenameTarget, { kind: 'refused' }>

/** The tensor named at an offset, or why there is nothing to rename. */
export function renameTargetAt(tree: PbtxtTree, offset: number, context: ConfigContext): RenameTarget {
  const subject = subjectAt(tree, offset, context)
  if (subject.kind === 'refused') return subject
  const { start, end } = insideQuotes(subject.literal)
  return { kind: 'tensor', name: subject.name, span: { start: start + subject.prefix.length, end } }
}

/** Renames the tensor at an offset in all its places of the file. No edits where the name stays. */
export function renameTensor(tree: PbtxtTree, offset: number, newName: string, context: ConfigContext): Renaming {
  const subject = subjectAt(tree, offset, context)
  if (subject.kind === 'refused') return subject
  if (newName === subject.name) return { kind: 'renamed', edits: [], notes: [] }
  if (newName.trim() === '') return refused('A tensor needs a name.', '张量必须有名称。')
  const reason = subject.refuses(newName)
  return reason === null ? { kind: 'renamed', edits: subject.edits(newName), notes: subject.notes(newName) } : { kind: 'refused', reason }
}

function refused(en: string, zh: string): Refusal {
  return { kind: 'refused', reason: say(en, zh) }
}

function subjectAt(tree: PbtxtTree, offset: number, context: ConfigContext): Subject | Refusal {
  const end = endAt(tree, offset)
  if (end !== null) return ensembleSubject(tree, end.tensor, end.literal, context)
  const link = memberLinkAt(tree, offset)
  if (link !== null) {
    const { modelName, tensor } = link
    if (tensor === null) return refused(`'${modelName}' is the name of a model, which is that of its folder.`, `'${modelName}' 是模型名称，与模型目录同名，不能在这里改。`)
    const [en, zh] = ROLE_WORDS[tensor.role]
    return refused(`'${tensor.name}' is an ${en} of model '${modelName}': rename it in that model's config (F12 goes there).`, `'${tensor.name}' 是模型 '${modelName}' 的${zh}：请在该模型的配置中改名（按 F12 前往）。`)
  }
  const isEnsemble = ensembleGraph(tree).ends.length > 0
  const places = isEnsemble ? [] : tensorPlaces(tree)
  const place = places.find(({ literal, prefix }) => literal.start + prefix.length <= offset && offset <= literal.end)
  return place === undefined ? refused('There is no name of a tensor here.', '这里没有张量名称。') : ownSubject(tree, places, place, context)
}

const ROLE_WORDS = { input: ['input', '输入'], output: ['output', '输出'] } as const

function ensembleSubject(tree: PbtxtTree, name: string, literal: PbtxtScalar, context: ConfigContext): Subject {
  const ends = endsOfTensor(tree, name)
  const roles = (['input', 'output'] as const).filter((role) => ends.some(({ where }) => where === role))
  return {
    kind: 'subject', name, literal, prefix: '',
    refuses: (newName) => (endsOfTensor(tree, newName).length === 0 ? null
      : say(`This ensemble has a tensor '${newName}' already: the two would become one.`, `这个 ensemble 已有张量 '${newName}'：改名会把两者合成一个。`)),
    edits: (newName) => ends.flatMap((end) => replacedString(end.literal, newName)),
    notes: (newName) => [
      ...(roles.length === 0 ? [] : [say(`'${name}' was part of the ensemble's interface: clients must say '${newName}' from now on.`, `'${name}' 属于 ensemble 的对外接口：客户端今后要使用 '${newName}'。`)]),
      ...usesNote(context, roles, name, newName),
    ],
  }
}

function ownSubject(tree: PbtxtTree, places: readonly TensorPlace[], place: TensorPlace, context: ConfigContext): Subject | Refusal {
  const { role, name, literal, prefix } = place
  const view = createConfigView(tree.text, context)
  const backend = view.normalized?.backend ?? view.config?.backend ?? ''
  const partner = backend === 'identity' ? identityPartner(role, name) : null
  const named = (wantedRole: TensorRole, wantedName: string) => places.filter((one) => one.role === wantedRole && one.name === wantedName)
  const fileNames = backend === 'python' || backend === 'identity' ? null : namesInFile(context, role, view.config?.default_model_filename ?? '')
  if (fileNames !== null && fileNames.names.includes(name)) {
    return refused(`'${name}' is the name that the model file ${fileNames.file} gives the ${ROLE_WORDS[role][0]}: the config cannot change it.`, `'${name}' 是模型文件 ${fileNames.file} 中的${ROLE_WORDS[role][1]}名称，配置不能改它。`)
  }
  return {
    kind: 'subject', name, literal, prefix,
    refuses: (newName) => {
      const isTaken = named(role, newName).length > 0 || (partner !== null && identityPartner(role, newName) !== null && named(partner.role, identityPartner(role, newName)?.name ?? '').length > 0)
      if (isTaken) return say(`This config names an ${ROLE_WORDS[role][0]} '${newName}' already.`, `这个配置中已有名为 '${newName}' 的${ROLE_WORDS[role][1]}。`)
      if (backend === 'identity' && identityPartner(role, newName) === null) {
        const pattern = `${role.toUpperCase()}<index>`
        return say(`The identity backend expects names that follow ${pattern}.`, `identity 后端要求名称符合 ${pattern}。`)
      }
      if (fileNames === null || fileNames.names.includes(newName)) return null
      return say(`The model file ${fileNames.file} has no ${ROLE_WORDS[role][0]} '${newName}'. It has ${namesText(fileNames.names, 'en')}.`, `模型文件 ${fileNames.file} 中没有${ROLE_WORDS[role][1]} '${newName}'。现有 ${namesText(fileNames.names, 'zh-CN')}。`)
    },
    edits: (newName) => {
      const newPartner = partner === null ? null : identityPartner(role, newName)
      return [
        ...named(role, name).flatMap((one) => replacedString(one.literal, one.prefix + newName)),
        ...(partner === null || newPartner === null ? [] : named(partner.role, partner.name).flatMap((one) => replacedString(one.literal, one.prefix + newPartner.name))),
      ]
    },
    notes: (newName) => [
      ...(backend === 'python' ? [say(`model.py must use '${newName}' too.`, `model.py 中也要改用 '${newName}'。`)] : []),
      ...(backend !== 'python' && backend !== 'identity' && fileNames === null
        ? [say(`The model file cannot be read here: the model loads only if the file has an ${ROLE_WORDS[role][0]} '${newName}'.`, `这里读不到模型文件：只有文件中有${ROLE_WORDS[role][1]} '${newName}'，模型才能加载。`)] : []),
      ...usesNote(context, [role], name, newName),
      ...(partner === null ? [] : usesNote(context, [partner.role], partner.name, identityPartner(role, newName)?.name ?? '')),
    ],
  }
}

/** `identity` answers `INPUT<n>` as `OUTPUT<n>`: the two are renamed together. null: the name does not follow the pattern. */
function identityPartner(role: TensorRole, name: string): { readonly role: TensorRole; readonly name: string } | null {
  const index = new RegExp(`^${role.toUpperCase()}(\\d+)$`).exec(name)?.[1]
  if (index === undefined) return null
  return role === 'input' ? { role: 'output', name: `OUTPUT${index}` } : { role: 'input', name: `INPUT${index}` }
}

/** Names that the model's files give, of all versions that can be read; null: none can. */
function namesInFile({ versions }: ConfigContext, role: TensorRole, fileName: string): { readonly file: string; readonly names: readonly string[] } | null {
  const read = versions.filter(({ signature }) => signature !== null)
  const [first] = read
  if (first === undefined) return null
  const file = [fileName, 'model.onnx'].find((name) => first.files.includes(name)) ?? first.files.find((name) => name.endsWith('.onnx')) ?? ''
  const names = read.flatMap(({ signature }) => (signature === null ? [] : role === 'input' ? signature.inputs : signature.outputs)).map(({ name }) => name)
  return { file: `${first.version}/${file}`, names: [...new Set(names)] }
}

/** The ensembles of the repository that go on using the old name. */
function usesNote(context: ConfigContext, roles: readonly TensorRole[], name: string, newName: string): LocalizedText[] {
  const { modelName } = context
  if (modelName === null) return []
  const ensembles = [...new Set(roles.flatMap((role) => ensemblesThatMap(context, modelName, role, name)).map(({ ensemble }) => ensemble))]
  if (ensembles.length === 0) return []
  return [say(`Still mapped as '${name}' by ${namesText(ensembles, 'en')}: write '${newName}' there too.`, `${namesText(ensembles, 'zh-CN')} 中仍映射 '${name}'：也要改为 '${newName}'。`)]
}

/** The first part of a string gets the whole value, in its own quotes; further parts go, what stands between them stays. */
function replacedString({ tokens }: PbtxtScalar, value: string): TextEdit[] {
  return tokens.map(({ offset, text }, index) => ({ offset, length: text.length, text: index > 0 ? '' : renderString(value, text.startsWith('\'') ? '\'' : '"') }))
}
