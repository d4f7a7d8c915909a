/** Which controls of the form are drawn again by an edit: those that it concerns. Counted by what Fluent's controls are asked to draw. */
import { act } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConfigDiagnostic } from '../../../server-core/contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../../../server-core/contract/config-language.ts'
import { render } from '../../testing/render.tsx'
import type { Rendered } from '../../testing/render.tsx'
import { applyEdits, CLOSED_DOCUMENT, openDocument, setDiagnostics, setSelection, useConfigDocument } from './config-document.ts'
import { ConfigForm } from './config-form.tsx'
import { GENERATED_SECTIONS } from './form/control-kind.ts'
import { setScope, useFormView } from './form/form-view-store.ts'

const drawn = vi.hoisted(() => ({ names: [] as string[] }))

vi.mock('@fluentui/react-components', async (original) => {
  const fluent = await original<Record<string, unknown>>()
  const counted = (name: string) => {
    const Control = fluent[name] as ComponentType<Record<string, unknown>>
    return function Counted(props: Record<string, unknown> & { readonly children?: ReactNode }) {
      drawn.names.push(`${name} ${String(props['aria-label'] ?? props['value'] ?? props['checked'])}`)
      return <Control {...props} />
    }
  }
  return { ...fluent, ...Object.fromEntries(['Input', 'Select', 'Switch', 'Slider'].map((name) => [name, counted(name)])) }
})

const CONTENT = `name: "m"
backend: "npu_ge"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3 ] }, { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
output { name: "z" data_type: TYPE_FP32 dims: [ 5 ] }
instance_group { count: 2 }
dynamic_batching { max_queue_delay_microseconds: 100 }
model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 3 zero_data: true } } }
parameters { key: "k" value { string_value: "v" } }
parameters { key: "graph.ge.inputShape" value { string_value: "x:-1,3;y:-1,4" } }
parameters { key: "graph.ge.dynamicDims" value { string_value: "1,1;2,2" } }
parameters { key: "graph.ge.dynamicNodeType" value { string_value: "1" } }
metric_tags { key: "a" value: "1" }
`

let rendered: Rendered | undefined

async function drawnBy(change: () => void): Promise<string[]> {
  drawn.names = []
  await act(async () => change())
  return [...new Set(drawn.names)].sort()
}

/** Replaces the first `before`, as somebody does who types in the text. */
function typing(before: string, after: string): () => void {
  return () => applyEdits([{ offset: useConfigDocument.getState().text.indexOf(before), length: before.length, text: after }], 'text')
}

beforeEach(async () => {
  Element.prototype.scrollIntoView = () => {}
  useConfigDocument.setState(CLOSED_DOCUMENT, true)
  useFormView.setState({ query: '', scope: 'all', opened: Object.fromEntries([...GENERATED_SECTIONS.map(({ id }) => id), 'parameters'].map((id) => [id, true])) })
  openDocument({ modelName: 'm', text: CONTENT, hash: 'h', context: EMPTY_CONFIG_CONTEXT })
  drawn.names = []
  rendered = await render(<ConfigForm />)
})
afterEach(async () => {
  await rendered?.unmount()
  rendered = undefined
})

describe('controls drawn again by an edit', () => {
  it('are many when the form is first drawn', () => {
    expect(drawn.names.length).toBeGreaterThan(50)
  })

  it('are none for a comment above everything, whatever offsets it moves', async () => {
    expect(await drawnBy(typing('name: "m"', '# a comment\n\nname: "m"'))).toEqual([])
  })

  it('are those of the entry whose value is typed', async () => {
    await drawnBy(typing('"v"', '"vw"')) // the first letter also marks the entry, and its section, as changed
    expect(await drawnBy(typing('"vw"', '"vwx"'))).toEqual(['Input Key of parameters', 'Input Value of k'])
  })

  it('are those of one tensor for its name', async () => {
    const names = await drawnBy(typing('name: "z"', 'name: "zz"'))
    expect(names.length).toBeGreaterThan(0)
    expect(names.length).toBeLessThan(8)
  })

  it('are few under the filters too', async () => {
    await act(async () => setScope('set'))
    await drawnBy(typing('"v"', '"vw"'))
    expect(await drawnBy(typing('"vw"', '"vwx"'))).toEqual(['Input Key of parameters', 'Input Value of k'])
  })

  it('are none when the selection moves', async () => {
    expect(await drawnBy(() => setSelection(['max_batch_size'], 'text'))).toEqual([])
  })

  it('are the one that a check finds something about', async () => {
    const offset = CONTENT.indexOf('8')
    const diagnostic: ConfigDiagnostic = { code: 'c', severity: 'error', message: { en: 'too many', 'zh-CN': '太多' }, offset, length: 1, line: 3, column: 17, endLine: 3, endColumn: 18, fixes: [] }
    expect(await drawnBy(() => setDiagnostics(useConfigDocument.getState().version, [diagnostic]))).toEqual(['Input 8'])
    expect(await drawnBy(() => setDiagnostics(useConfigDocument.getState().version, [{ ...diagnostic }]))).toEqual([])
  })
})
