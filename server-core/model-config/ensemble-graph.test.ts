import { describe, expect, test } from 'vitest'
import { endAt, endsOfTensor, ensembleGraph, ensemblesThatMap, insideQuotes, memberLinkAt, otherEnds, tensorNamed } from './ensemble-graph.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import { readModelConfig } from './read-config.ts'

const ENSEMBLE = `platform: "ensemble"
input [ { name: "IMAGE" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output { name: 'CLASS' data_type: TYPE_FP32 dims: 2 }
ensemble_scheduling {
  step [
    { model_name: "resize" model_version: -1 input_map { key: "RAW" value: "IMAGE" } output_map { key: "OUT" value: "PIXELS" } }
  ]
  step { # another way of writing
    model_name: "classify"
    input_map [ { key: "x", value: "PIXELS" }, { key: "original", value: "IMAGE" } ]
    output_map { value: "CLASS" key: "softmax" }
  }
}
`

/** The tree, and the offset of `|` in the text. */
function at(marked: string) {
  const text = marked.replace('|', '')
  return { tree: parsePbtxt(text).tree, offset: marked.indexOf('|'), text }
}

function othersAt(marked: string): string[] {
  const { tree, offset } = at(marked)
  const end = endAt(tree, offset)
  return end === null ? [] : otherEnds(tree, end).map(({ where, literal }) => `${where} ${marked.replace('|', '').slice(0, literal.start).split('\n').length}`)
}

describe('ensemble graph', () => {
  const consumerOfPixels = ENSEMBLE.replace('"x", value: "PIX', '"x", value: "PIX|')

  test('leads from a consumer to the producer and back', () => {
    expect(othersAt(consumerOfPixels)).toEqual(['output_map 6'])
    expect(othersAt(ENSEMBLE.replace('"OUT" value: "', '"OUT" value: "|'))).toEqual(['input_map 10'])
  })

  test('leads from the ensemble input to every step that reads it, and from the ensemble output to the step that writes it', () => {
    expect(othersAt(ENSEMBLE.replace('"IMAGE" data', '"IMAGE"| data'))).toEqual(['input_map 6', 'input_map 10'])
    expect(othersAt(ENSEMBLE.replace("'CLASS'", "|'CLASS'"))).toEqual(['output_map 11'])
    expect(othersAt(ENSEMBLE.replace('"original", value: "IMA', '"original", value: "IMA|'))).toEqual(['input 2'])
  })

  test('knows keys and model_name as places of member models', () => {
    const link = (marked: string) => {
      const { tree, offset } = at(marked)
      const found = memberLinkAt(tree, offset)
      return found === null ? null : [found.modelName, found.tensor?.role ?? null, found.tensor?.name ?? null]
    }
    expect(link(ENSEMBLE.replace('"softmax"', '"soft|max"'))).toEqual(['classify', 'output', 'softmax'])
    expect(link(ENSEMBLE.replace('"RAW"', '"RAW|"'))).toEqual(['resize', 'input', 'RAW'])
    expect(link(ENSEMBLE.replace('"resize"', '"|resize"'))).toEqual(['resize', null, null])
    expect(link(consumerOfPixels)).toBeNull()
  })

  test('is empty for other models, and reads what a broken file still says', () => {
    expect(ensembleGraph(parsePbtxt('input { name: "x" } output { name: "y" }').tree).ends).toEqual([])
    const { tree } = parsePbtxt('input { name: "A" } ensemble_scheduling { step [ { model_name: "m" input_map { key: "x" value: "A" } output_map { key: "y" value: } ')
    expect(ensembleGraph(tree).ends.map(({ tensor, where }) => `${where} ${tensor}`)).toEqual(['input A', 'input_map A'])
  })

  test('finds all places of a tensor in order, and the text between the quotes', () => {
    const { tree, text } = at(ENSEMBLE)
    const places = endsOfTensor(tree, 'CLASS').map(({ literal }) => insideQuotes(literal))
    expect(places.map(({ start, end }) => text.slice(start, end))).toEqual(['CLASS', 'CLASS'])
    expect(places[0]?.start).toBeLessThan(places[1]?.start ?? 0)
    const parts = parsePbtxt('input { name: "A" "B" } ensemble_scheduling { }').tree
    const literal = ensembleGraph(parts).ends[0]?.literal
    expect(literal && parts.text.slice(insideQuotes(literal).start, insideQuotes(literal).end)).toBe('"A" "B"')
  })

  test('finds a tensor in the config of its model', () => {
    const { tree } = parsePbtxt('input [ { name: "x" }, { name: "y" } ] output { name: "x" }')
    expect(tensorNamed(tree, 'input', 'y')?.start).toBe(tree.text.indexOf('"y"'))
    expect(tensorNamed(tree, 'output', 'x')?.start).toBe(tree.text.lastIndexOf('"x"'))
    expect(tensorNamed(tree, 'output', 'y')).toBeNull()
  })

  test('names the ensembles of the repository that map a tensor', () => {
    const models = { e: { config: readModelConfig(ENSEMBLE, 'e'), versions: [1] }, other: { config: readModelConfig('backend: "identity"', 'other'), versions: [1] } }
    expect(ensemblesThatMap({ models }, 'classify', 'input', 'x')).toEqual([{ ensemble: 'e', tensor: 'PIXELS' }])
    expect(ensemblesThatMap({ models }, 'classify', 'output', 'x')).toEqual([])
    expect(ensemblesThatMap({ models }, 'resize', 'input', 'toString')).toEqual([])
  })
})
