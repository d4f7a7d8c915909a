import { describe, expect, test } from 'vitest'
import type { ConfigContext } from '../contract/config-language.ts'
import { EMPTY_CONFIG_CONTEXT } from '../contract/config-language.ts'
import { applyEdits } from './config-edit.ts'
import { parsePbtxt } from './pbtxt-parser.ts'
import { readModelConfig } from './read-config.ts'
import { renameTargetAt, renameTensor } from './tensor-rename.ts'

function context(part: Partial<ConfigContext> = {}): ConfigContext {
  return { ...EMPTY_CONFIG_CONTEXT, modelName: 'm', ...part }
}

/** Renames what stands at `|`. */
function rename(marked: string, newName: string, known: ConfigContext = context()) {
  const text = marked.replace('|', '')
  const result = renameTensor(parsePbtxt(text).tree, marked.indexOf('|'), newName, known)
  return result.kind === 'refused'
    ? { text: null, en: result.reason.en, zh: result.reason['zh-CN'], notes: [] }
    : { text: applyEdits(text, result.edits), en: '', zh: '', notes: result.notes.map((note) => note.en) }
}

function target(marked: string, known: ConfigContext = context()) {
  const text = marked.replace('|', '')
  const found = renameTargetAt(parsePbtxt(text).tree, marked.indexOf('|'), known)
  return found.kind === 'refused' ? found.reason.en : text.slice(found.span.start, found.span.end)
}

const onnx = (inputs: readonly string[]): Partial<ConfigContext> => ({
  versions: [{ version: 1, files: ['model.onnx'], signature: { inputs: inputs.map((name) => ({ name, datatype: 'FP32', shape: [3] })), outputs: [] } }], files: { 'config.pbtxt': 1 },
})
const usedBy = (name: string, config: string): Partial<ConfigContext> => ({ models: { [name]: { config: readModelConfig(config, name), versions: [1] } } })

describe('renaming an ensemble tensor', () => {
  const ENSEMBLE = '\uFEFFplatform : "ensemble" # IMAGE stays in comments\r\ninput [ { name:\'IMAGE\', dims: 1 } ]\r\noutput { name: "OUT" dims: 1 }\r\nensemble_scheduling {\r\n\tstep [\r\n'
    + '\t\t{ model_name: "IMAGE"   input_map { key: "IMAGE" value:  "IMAGE" } output_map { key: "y" value: "MID" } }, # first\r\n'
    + '\t\t{ model_name: "b" input_map [ { value: "MID", key: "x" }, { key: "i" value: "IM" "AGE" } ] output_map { key: "OUT" value: "OUT" } }\r\n\t]\r\n}\r\n'
  const RENAMED = ENSEMBLE.replace("'IMAGE'", "'PICTURE'").replace('value:  "IMAGE"', 'value:  "PICTURE"').replace('"IM" "AGE"', '"PICTURE" ')

  test('changes the ensemble\'s own tensor and every value of the maps, and no other byte', () => {
    expect(rename(ENSEMBLE.replace("'IMAGE'", "'IM|AGE'"), 'PICTURE').text).toBe(RENAMED)
  })

  test('does the same from any of its places', () => {
    expect(rename(ENSEMBLE.replace('value:  "IMAGE"', 'value:  "|IMAGE"'), 'PICTURE').text).toBe(RENAMED)
    expect(rename(ENSEMBLE.replace('"MID", key', '"MID"|, key'), 'a"b').text).toBe(ENSEMBLE.replaceAll('"MID"', '"a\\"b"'))
  })

  test('says what changes for clients and for ensembles around it', () => {
    const outer = 'platform: "ensemble" ensemble_scheduling { step { model_name: "m" input_map { key: "IMAGE" value: "X" } output_map { key: "OUT" value: "Y" } } }'
    expect(rename(ENSEMBLE.replace("'IMAGE'", "'|IMAGE'"), 'PICTURE', context(usedBy('outer', outer))).notes).toEqual([
      "'IMAGE' was part of the ensemble's interface: clients must say 'PICTURE' from now on.", "Still mapped as 'IMAGE' by 'outer': write 'PICTURE' there too.",
    ])
    expect(rename(ENSEMBLE.replace('"MID", key', '"|MID", key'), 'HALF').notes).toEqual([])
  })

  test('refuses no name and the name of another tensor, in both languages', () => {
    const marked = ENSEMBLE.replace('"MID", key', '"|MID", key')
    expect(rename(marked, ' ')).toMatchObject({ text: null, en: 'A tensor needs a name.', zh: '张量必须有名称。' })
    expect(rename(marked, 'OUT')).toMatchObject({ text: null, en: "This ensemble has a tensor 'OUT' already: the two would become one.", zh: "这个 ensemble 已有张量 'OUT'：改名会把两者合成一个。" })
    expect(rename(marked, 'MID').text).toBe(ENSEMBLE)
  })

  test('leads keys and model names to the model they belong to', () => {
    expect(target(ENSEMBLE.replace('key: "x"', 'key: "|x"'))).toBe("'x' is an input of model 'b': rename it in that model's config (F12 goes there).")
    expect(target(ENSEMBLE.replace('"b"', '"|b"'))).toContain('is the name of a model')
    expect(target(ENSEMBLE.replace('dims', 'di|ms'))).toBe('There is no name of a tensor here.')
    expect(target(ENSEMBLE.replace('"MID", key', '"|MID", key'))).toBe('MID')
  })
})

describe('renaming a tensor of another model', () => {
  const PYTHON = 'backend: "python"\nmax_batch_size: 8\ninput { name: "|text" data_type: TYPE_STRING dims: 1 }\noutput { name: "text" data_type: TYPE_STRING dims: 1 }\n'
    + 'model_warmup { name: "w" inputs { key: "text" value { data_type: TYPE_STRING dims: 1 zero_data: true } } }\nbatch_input { target_name: "n" source_input: [ "text" ] }\n'
    + 'parameters { key: "console.default.text" value { string_value: "text" } }\n'

  test('follows a python model\'s input through its config, and leaves the output of the same name', () => {
    const plain = PYTHON.replace('|', '')
    const renamed = plain.replace('input { name: "text"', 'input { name: "words"').replace('key: "text"', 'key: "words"').replace('[ "text" ]', '[ "words" ]').replace('default.text', 'default.words')
    expect(rename(PYTHON, 'words').text).toBe(renamed)
    expect(rename(plain.replace('default.text', 'default.te|xt'), 'words').text).toBe(renamed)
    expect(target(plain.replace('default.text', 'default.te|xt'))).toBe('text')
  })

  test('names model.py and the ensembles that still use the old name', () => {
    const known = context(usedBy('pipeline', 'platform: "ensemble" ensemble_scheduling { step { model_name: "m" input_map { key: "text" value: "T" } } }'))
    expect(rename(PYTHON, 'words', known).notes).toEqual(["model.py must use 'words' too.", "Still mapped as 'text' by 'pipeline': write 'words' there too."])
  })

  test('refuses a name that is taken on the same side', () => {
    expect(rename('backend: "python" input [ { name: "|a" }, { name: "b" } ] output { name: "c" }', 'b').en).toBe("This config names an input 'b' already.")
    expect(rename('backend: "python" input [ { name: "|a" }, { name: "b" } ] output { name: "c" }', 'c').text).toBe('backend: "python" input [ { name: "c" }, { name: "b" } ] output { name: "c" }')
  })

  test('keeps to the pattern of identity and renames the pair', () => {
    const marked = 'backend: "identity" input { name: "|INPUT0" } output { name: "OUTPUT0" }'
    expect(rename(marked, 'INPUT3').text).toBe('backend: "identity" input { name: "INPUT3" } output { name: "OUTPUT3" }')
    expect(rename(marked, 'x').en).toBe('The identity backend expects names that follow INPUT<index>.')
    expect(rename(marked.replace('}', '} input { name: "INPUT1" }'), 'INPUT1').en).toContain('already')
  })

  test('refuses to rename what the model file names, and takes the file\'s name for a wrong one', () => {
    const known = context(onnx(['x', 'mask']))
    expect(target('backend: "onnxruntime" input { name: "|x" }', known)).toBe("'x' is the name that the model file 1/model.onnx gives the input: the config cannot change it.")
    const wrong = 'backend: "onnxruntime" input [ { name: "x" }, { name: "|msk" } ]'
    expect(rename(wrong, 'mask', known).text).toBe('backend: "onnxruntime" input [ { name: "x" }, { name: "mask" } ]')
    expect(rename(wrong, 'other', known).en).toBe("The model file 1/model.onnx has no input 'other'. It has 'x', 'mask'.")
    expect(rename('backend: "python" input { name: "|x" }', 'y', known).text).toBe('backend: "python" input { name: "y" }')
  })

  test('says that a file it cannot read decides', () => {
    expect(rename('backend: "npu_om" input { name: "|x" }', 'y').notes).toEqual(["The model file cannot be read here: the model loads only if the file has an input 'y'."])
  })
})
