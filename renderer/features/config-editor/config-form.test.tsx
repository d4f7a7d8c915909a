import { act } from 'react'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConfigContext, ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { applyEdits as applyTo, setField } from '../../../server-core/model-config/config-edit.ts'
import type { ConfigPath, ConfigValue } from '../../../server-core/model-config/config-edit.ts'
import { mapValueField, MODEL_CONFIG_SCHEMA } from '../../../server-core/model-config/config-schema.ts'
import type { FieldSchema, MessageSchema } from '../../../server-core/model-config/config-schema.ts'
import { parsePbtxt } from '../../../server-core/model-config/pbtxt-parser.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { CLOSED_DOCUMENT, openDocument, setDiagnostics, setSelection, setText, undo, useConfigDocument } from './config-document.ts'
import { ConfigForm } from './config-form.tsx'
import { GENERATED_SECTIONS } from './form/control-kind.ts'
import { pathKey } from './form/form-tree.ts'
import { ROWS_AT_FIRST } from './form/map-control.tsx'
import { setQuery, setScope, useFormView } from './form/form-view-store.ts'

let rendered: Rendered | undefined
const text = () => useConfigDocument.getState().text

async function show(content: string, context: Partial<ConfigContext> = {}): Promise<HTMLElement> {
  openDocument({ modelName: 'm', text: content, hash: 'h', context: { ...EMPTY_CONFIG_CONTEXT, ...context } })
  rendered = await render(<ConfigForm />)
  return rendered.container
}

function at(container: HTMLElement, path: ConfigPath): HTMLElement {
  const found = container.querySelector<HTMLElement>(`[data-path='${JSON.stringify(path)}']`)
  if (found === null) throw new Error(`no field at ${pathKey(path)}`)
  return found
}

function control<Kind extends HTMLElement>(container: HTMLElement, path: ConfigPath, selector: string): Kind {
  const found = at(container, path).querySelector<Kind>(selector)
  if (found === null) throw new Error(`no ${selector} at ${pathKey(path)}`)
  return found
}

async function type(input: HTMLInputElement, value: string): Promise<void> {
  await act(async () => {
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value')?.set?.call(input, value)
    input.dispatchEvent(new Event('input', { bubbles: true }))
  })
}

async function choose(select: HTMLSelectElement, value: string): Promise<void> {
  await act(async () => {
    select.value = value
    select.dispatchEvent(new Event('change', { bubbles: true }))
  })
}

const click = (element: Element) => act(async () => (element as HTMLElement).click())
const button = (container: HTMLElement, name: string) => [...container.querySelectorAll('button')].find((one) => (one.getAttribute('aria-label') ?? one.textContent) === name)

beforeEach(() => {
  Element.prototype.scrollIntoView = () => {}
  useConfigDocument.setState(CLOSED_DOCUMENT, true)
  useFormView.setState({ query: '', scope: 'all', opened: {} })
})
afterEach(async () => {
  await rendered?.unmount()
  rendered = undefined
})

/** A message with everything in it: one item a list, one entry a map; of a oneof the member that `pick` names. */
function everything(schema: MessageSchema, pick: number): ConfigValue {
  const written: Record<string, ConfigValue> = {}
  for (const field of schema.fields) {
    const members = schema.fields.filter(({ oneof }) => oneof !== undefined && oneof === field.oneof)
    if (members.length > 0 && members.indexOf(field) !== pick % members.length) continue
    const mapValue = mapValueField(field)
    if (mapValue !== undefined) {
      const key = field.type.kind === 'message' ? field.type.message.byName.get('key')?.type : undefined
      written[field.name] = { [key?.kind === 'scalar' && key.scalar !== 'string' ? '1' : 'k']: single(mapValue, pick) }
    } else {
      written[field.name] = field.isRepeated ? [single(field, pick)] : single(field, pick)
    }
  }
  return written
}

function single(field: FieldSchema, pick: number): ConfigValue {
  if (field.type.kind === 'message') return everything(field.type.message, pick)
  if (field.type.kind === 'enum') return Object.keys(field.type.enum.values).at(-1) ?? 0
  return field.type.scalar === 'string' ? 'k' : field.type.scalar === 'bool' ? true : 1
}

/** Fields of the schema by the path they have in `everything`, with the row that edits them: entries of text maps edit their own value. */
function schemaPaths(schema: MessageSchema, pick: number, path: ConfigPath = []): ConfigPath[] {
  return schema.fields.flatMap((field): ConfigPath[] => {
    const members = schema.fields.filter(({ oneof }) => oneof !== undefined && oneof === field.oneof)
    if (members.length > 0 && members.indexOf(field) !== pick % members.length) return []
    const own: ConfigPath = [...path, field.name]
    const mapValue = mapValueField(field)
    if (mapValue !== undefined) {
      const key = field.name === 'priority_queue_policy' ? '1' : 'k'
      if (path.length === 0 && field.name === 'parameters') return [[...own, { key }]]
      return [[...own, { key }], ...(mapValue.type.kind === 'message' ? schemaPaths(mapValue.type.message, pick, [...own, { key }, 'value']) : [])]
    }
    if (field.type.kind !== 'message') return [own]
    return [own, ...schemaPaths(field.type.message, pick, field.isRepeated ? [...own, 0] : own)]
  })
}

describe('config form', () => {
  it.each([0, 1, 2])('has a control for every field of the schema (members of oneofs: %i)', async (pick) => {
    let { tree } = parsePbtxt('')
    for (const [name, value] of Object.entries(everything(MODEL_CONFIG_SCHEMA, pick) as Record<string, ConfigValue>)) tree = parsePbtxt(applyTo(tree.text, setField(tree, [name], value))).tree
    expect(parsePbtxt(tree.text).errors).toEqual([])
    useFormView.setState({ opened: Object.fromEntries([...GENERATED_SECTIONS.map(({ id }) => id), 'parameters'].map((id) => [id, true])) })
    const container = await show(tree.text)
    for (const folded of container.querySelectorAll('.npu-form-body [aria-expanded="false"]')) await click(folded)
    for (const more of container.querySelectorAll('[aria-label^="More about"]')) await click(more)
    const held = new Map([...container.querySelectorAll<HTMLElement>('[data-path]')].map((element) => [element.dataset['path'], element]))
    const paths = schemaPaths(MODEL_CONFIG_SCHEMA, pick)
    expect(paths.length).toBeGreaterThan(100)
    const missing = paths.filter((path) => {
      const element = held.get(JSON.stringify(path))
      return element === undefined || element.querySelector('input, select, textarea, button') === null
    })
    expect(missing.map(pathKey)).toEqual([])
  }, 60_000)

  it('changes the value and leaves comments and every other byte', async () => {
    const content = '# head\r\nname: "m" # kept\r\nmax_batch_size : 8   # rows\r\ninput [ { name: "x", data_type: TYPE_FP32, dims: [3,  48, -1] } ]\r\n'
    const container = await show(content)
    await type(control(container, ['max_batch_size'], 'input'), '16')
    expect(text()).toBe(content.replace(': 8', ': 16'))
    await type(control(container, ['input', 0, 'dims'], 'input'), '[ 3, 32, -1 ]')
    expect(text()).toBe(content.replace(': 8', ': 16').replace('48', '32'))
    await act(async () => { undo() })
    await act(async () => { undo() })
    expect(text()).toBe(content)
  })

  it('keeps what cannot be read in the control and says why', async () => {
    const content = 'max_batch_size: 8\ninput { name: "x" dims: [ 3 ] }'
    const container = await show(content)
    const dims = control<HTMLInputElement>(container, ['input', 0, 'dims'], 'input')
    await type(dims, '[ 3, x ]')
    expect(text()).toBe(content)
    expect(dims.value).toBe('[ 3, x ]')
    expect(at(container, ['input', 0, 'dims']).textContent).toContain('“x” is not a number')
    const size = control<HTMLInputElement>(container, ['max_batch_size'], 'input[type="number"]')
    await type(size, '-4')
    expect(text()).toBe(content)
    expect(at(container, ['max_batch_size']).textContent).toContain('From 0 to')
  })

  it('follows the text', async () => {
    const container = await show('max_batch_size: 8')
    await act(async () => setText('max_batch_size: 4\nbackend: "npu_ge"', 'text'))
    expect(control<HTMLInputElement>(container, ['max_batch_size'], 'input').value).toBe('4')
    expect(container.querySelector('[data-section="npu"]')).not.toBeNull()
  })

  it('shows and marks the field that the text view selects, and opens its section', async () => {
    const container = await show('optimization { graph { level: 1 } }')
    expect(container.querySelector(`[data-path='["optimization","graph","level"]']`)).toBeNull()
    await act(async () => setSelection(['optimization', 'graph', 'level'], 'text'))
    expect(at(container, ['optimization', 'graph', 'level']).hasAttribute('data-marked')).toBe(true)
  })

  it('tells the text view which field has the focus', async () => {
    const container = await show('name: "m"')
    await act(async () => control<HTMLInputElement>(container, ['name'], 'input').focus())
    expect(useConfigDocument.getState().selection).toEqual({ path: ['name'], origin: 'form' })
  })

  it('locks what cannot be parsed and lists what the schema does not know', async () => {
    const container = await show('max_batch_size: 8\ndynamic_batching { preferred_batch_size: [ 4, x ] }\nfoo: 1')
    const locked = at(container, ['dynamic_batching', 'preferred_batch_size'])
    expect(locked.querySelector('input')).toBeNull()
    expect(locked.textContent).toContain('line 2')
    expect(control<HTMLInputElement>(container, ['max_batch_size'], 'input').value).toBe('8')
    expect(container.querySelector('[data-section="unknown"]')?.textContent).toContain('foo')
  })

  it('shows a problem below its field with the button that repairs it', async () => {
    const content = 'max_batch_size: 8'
    const container = await show(content)
    const diagnostic: ConfigDiagnostic = {
      code: 'a-rule', severity: 'error', message: { en: 'too large', 'zh-CN': '太大' }, offset: 16, length: 1, line: 1, column: 17, endLine: 1, endColumn: 18,
      fixes: [{ title: { en: 'Use 4', 'zh-CN': '改为 4' }, isPreferred: true, edits: [{ offset: 16, length: 1, text: '4' }] }],
    }
    await act(async () => setDiagnostics(useConfigDocument.getState().version, [diagnostic]))
    const row = at(container, ['max_batch_size'])
    expect(row.textContent).toContain('too large')
    const fix = button(row, 'Use 4')
    expect(fix).toBeDefined()
    if (fix) await click(fix)
    expect(text()).toBe('max_batch_size: 4')
  })

  it('takes type and dims over from the model file', async () => {
    const signature = { inputs: [{ name: 'x', datatype: 'FP32', shape: ['batch', 3, 48, 'width'] }], outputs: [{ name: 'y', datatype: 'INT64', shape: ['batch', 5] }] }
    const container = await show('max_batch_size: 8\ninput [ { name: "x" data_type: TYPE_FP16 dims: [ -1, 3, 48, -1 ] } ] # in\n', { versions: [{ version: 1, files: ['model.onnx'], signature }] })
    const row = at(container, ['input', 0])
    expect(row.textContent).toContain('The datatype differs.')
    expect(row.textContent).toContain('[batch, 3, 48, width]')
    const take = button(row, 'Take the file\'s')
    if (take) await click(take)
    expect(text()).toContain('input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 48, -1 ] } ] # in')
    expect(at(container, ['input', 0]).querySelector('[aria-label="The same as in the model file"]')).not.toBeNull()
    const add = [...at(container, ['output']).querySelectorAll('button')].find((one) => one.textContent?.includes('INT64'))
    if (add) await click(add)
    expect(parsePbtxt(text()).errors).toEqual([])
    expect(text()).toContain('TYPE_INT64')
  })

  it('speaks of devices and leads to the backend that runs there', async () => {
    const container = await show('backend: "onnxruntime" # rt\ninstance_group [ { count: 2 } ]\n')
    const radio = (value: string) => control<HTMLInputElement>(container, ['instance_group', 0, 'kind'], `input[value="${value}"]`)
    await click(radio('cpu'))
    expect(text()).toContain('kind: KIND_CPU')
    await click(radio('npu'))
    expect(text()).toContain('backend: "onnxruntime"')
    const change = button(container, 'Change backend to npu_ge')
    if (change) await click(change)
    expect(text()).toBe('backend: "npu_ge" # rt\ninstance_group [ { count: 2 } ]\n')
  })

  it('writes gears for every input, and says what a missing one leaves uncovered', async () => {
    const container = await show('backend: "npu_ge"\nmax_batch_size: 8\ninput [ { name: "a" dims: [ 3 ] }, { name: "b" dims: [ 4 ] } ]\n')
    const start = button(container, 'Add gears 1, 2, 4, 8')
    if (start) await click(start)
    expect(text()).toContain('"graph.ge.inputShape"')
    expect(text()).toContain('"a:-1,3;b:-1,4"')
    expect(text()).toContain('"1,1;2,2;4,4;8,8"')
    expect(container.textContent).toContain('all covered')
    const remove = button(container, 'Remove gear 8')
    if (remove) await click(remove)
    expect(text()).toContain('"1,1;2,2;4,4"')
    expect(container.textContent).toContain('4 sizes without a gear (5 to 8)')
    const clear = button(container, 'Remove all gears')
    if (clear) await click(clear)
    expect(text()).not.toContain('parameters')
  })

  it('bounds core limits by the chip of the card', async () => {
    const content = 'backend: "npu_ge"\nparameters { key: "session.ge.aicoreNum" value { string_value: "12|10" } }\n'
    const container = await show(content, { machine: { cpuCount: 8, gpuCount: 0, npus: [{ card: 0, chip: 'Ascend910B3' }] } })
    const [cube, vector] = container.querySelectorAll<HTMLInputElement>(`[data-path='["parameters",{"key":"session.ge.aicoreNum"}]'] input[type="number"]`)
    expect([cube?.max, vector?.max]).toEqual(['20', '40'])
    if (cube) await type(cube, '21')
    expect(text()).toBe(content)
    if (cube) await type(cube, '16')
    expect(text()).toBe(content.replace('12|10', '16|10'))
    const card = button(container, 'Card 0 · 910B3')
    if (card) await click(card)
    expect(text()).toContain('key: "device_ids" value { string_value: "0" }')
  })

  it('draws the first rows of a file with very many parameters, the rest on request, and what is searched for', async () => {
    const all = Array.from({ length: ROWS_AT_FIRST + 50 }, (_none, index) => `k${index}`)
    useFormView.setState({ opened: { parameters: true } })
    const container = await show(all.map((key) => `parameters { key: "${key}" value { string_value: "v" } }\n`).join(''))
    const rows = () => [...container.querySelectorAll('[data-section="parameters"] .npu-form-entry')].map((row) => row.querySelector('input')?.value)
    expect(rows()).toEqual(all.slice(0, ROWS_AT_FIRST))
    await act(async () => { useFormView.setState({ query: 'k249' }) })
    expect(rows()[0]).toBe('k249')
    await act(async () => { useFormView.setState({ query: '' }) })
    const more = button(container, 'Show 50 more entries')
    expect(more).toBeDefined()
    if (more) await click(more)
    expect(rows()).toEqual(all)
  })

  it('switches the scheduler as a oneof', async () => {
    const container = await show('max_batch_size: 8\ndynamic_batching { max_queue_delay_microseconds: 100 }\n')
    const radio = control<HTMLInputElement>(container, ['dynamic_batching'], 'input[value="sequence"]')
    await click(radio)
    expect(text()).not.toContain('dynamic_batching')
    expect(text()).toContain('sequence_batching')
    expect(parsePbtxt(text()).errors).toEqual([])
    await act(async () => { undo() })
    expect(text()).toContain('max_queue_delay_microseconds: 100')
  })

  it('finds fields by name, label and meaning, and shows only what is written or changed', async () => {
    const container = await show('name: "m"\nmax_batch_size: 8\n')
    await act(async () => setQuery('transaction decoupled'))
    const shown = () => [...container.querySelectorAll<HTMLElement>('[data-path]')].map((element) => element.dataset['path'])
    expect(shown()).toEqual(['["model_transaction_policy"]', '["model_transaction_policy","decoupled"]'])
    await act(async () => { setQuery(''); setScope('set') })
    expect(shown()).toEqual(['["name"]', '["max_batch_size"]'])
    await act(async () => setScope('changed'))
    expect(container.textContent).toContain('Nothing differs from the saved file.')
    await act(async () => setText('name: "m"\nmax_batch_size: 4\n', 'text'))
    expect(shown()).toEqual(['["max_batch_size"]'])
    expect(container.textContent).toContain('was 8')
  })

  it('edits parameters as keys and values', async () => {
    useFormView.setState({ opened: { parameters: true } })
    const container = await show('parameters { key: "a" value { string_value: "1" } } # first\n')
    await type(control(container, ['parameters', { key: 'a' }], 'input[aria-label="Value of a"]'), '2')
    expect(text()).toBe('parameters { key: "a" value { string_value: "2" } } # first\n')
    const key = control<HTMLInputElement>(container, ['parameters'], 'input[aria-label="New key of Parameters"]')
    await type(key, 'a')
    expect(at(container, ['parameters']).textContent).toContain('There is an entry “a” already.')
    await type(key, 'b')
    const add = button(at(container, ['parameters']), 'Add Parameters')
    if (add) await click(add)
    expect(text()).toContain('key: "b"')
    await type(control(container, ['parameters', { key: 'b' }], 'input[aria-label="Value of b"]'), 'x')
    expect(text()).toContain('string_value: "x"')
  })

  it('sets an enum and takes it out again', async () => {
    const container = await show('input { name: "x" data_type: TYPE_FP32 dims: 3 }')
    const select = control<HTMLSelectElement>(container, ['input', 0, 'data_type'], 'select')
    await choose(select, 'TYPE_FP16')
    expect(text()).toBe('input { name: "x" data_type: TYPE_FP16 dims: 3 }')
    await choose(select, '')
    expect(text()).toBe('input { name: "x" dims: 3 }')
  })
})
