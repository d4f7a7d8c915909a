import { describe, expect, test } from 'vitest'
import { emptyMessage, setEntry } from './config-message.ts'
import type { MessageObject } from './config-message.ts'
import { MODEL_CONFIG_SCHEMA, mapValueField } from './config-schema.ts'
import type { FieldSchema, MessageSchema } from './config-schema.ts'
import { printModelConfigJson, readModelConfigJson } from './json-config.ts'
import { printModelConfig } from './print-config.ts'
import { readModelConfig } from './read-config.ts'

describe('printModelConfig', () => {
  test('prints fields by number, two spaces a level, scalars of a list one a line, maps sorted, defaults left out', () => {
    const config = readModelConfig(`backend: "b" name: "n" max_batch_size: 0 input { dims: [1, 2] reshape { shape: [] } name: "a" data_type: TYPE_BF16 }
      parameters { key: "z" value { string_value: "1" } } parameters { key: "a" } instance_group { kind: KIND_CPU count: 2 }
      dynamic_batching { priority_queue_policy { key: 10 value { timeout_action: DELAY } } priority_queue_policy { key: 9 } }`, '')
    expect(printModelConfig(config)).toBe(`name: "n"
input {
  name: "a"
  data_type: TYPE_BF16
  dims: 1
  dims: 2
  reshape {
  }
}
instance_group {
  count: 2
  kind: KIND_CPU
}
dynamic_batching {
  priority_queue_policy {
    key: 9
    value {
    }
  }
  priority_queue_policy {
    key: 10
    value {
      timeout_action: DELAY
    }
  }
}
parameters {
  key: "a"
  value {
  }
}
parameters {
  key: "z"
  value {
    string_value: "1"
  }
}
backend: "b"
`)
  })

  test('strings keep their letters and escape the rest', () => {
    expect(printModelConfig(readModelConfig(String.raw`name: "昇腾 \"q\" \'s\' \\ \n\t\001"`, ''))).toBe(String.raw`name: "昇腾 \"q\" \'s\' \\ \n\t\001"` + '\n')
  })

  test('floats are the shortest text that reads back', () => {
    const config = readModelConfig('sequence_batching { direct { minimum_slot_utilization: 0.1 } }', '')
    expect(printModelConfig(config)).toContain('minimum_slot_utilization: 0.1\n')
    expect(printModelConfigJson(config)).toContain('"minimum_slot_utilization":0.1}')
  })
})

function randomNumbers(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

const STRINGS = ['', 'a', 'input_0', '昇腾', 'with "quotes"', 'it\'s', 'line\nbreak', '\\', '\u0000\u001f', '😀', '__proto__', '7']

function randomScalar(field: FieldSchema, random: (limit: number) => number): unknown {
  if (field.type.kind === 'enum') {
    const names = Object.keys(field.type.enum.values)
    return random(8) === 0 ? 77 : names[random(names.length)]
  }
  if (field.type.kind === 'message') return randomMessage(field.type.message, random)
  switch (field.type.scalar) {
    case 'string': return STRINGS[random(STRINGS.length)]
    case 'bool': return random(2) === 1
    case 'float': return [0, 0.1, -1.5, 3e38, Infinity, Math.fround(1 / 3)].map(Math.fround)[random(6)]
    case 'double': return [0, 0.1, -1e-300, 1e21, -Infinity, 1 / 3, NaN][random(7)]
    case 'int32':
    case 'int64': return [0, 1, -1, 2 ** 31 - 1, -(2 ** 31)][random(5)]
    case 'uint32':
    case 'uint64': return [0, 1, 2 ** 32 - 1][random(3)]
  }
}

function randomMessage(schema: MessageSchema, random: (limit: number) => number): MessageObject {
  const object = emptyMessage(schema)
  const oneofs = new Set<string>()
  const ordered: MessageObject = {}
  for (const field of schema.fields) {
    const valueField = mapValueField(field)
    const isChosen = random(3) === 0 && (field.oneof === undefined || !oneofs.has(field.oneof))
    if (isChosen && field.oneof !== undefined) oneofs.add(field.oneof)
    if (isChosen && valueField !== undefined) {
      const map: MessageObject = {}
      const isIntegerKeyed = field.name === 'priority_queue_policy'
      for (let entry = random(3); entry >= 0; entry--) setEntry(map, isIntegerKeyed ? String(random(9)) : STRINGS[random(STRINGS.length)] ?? '', randomScalar(valueField, random))
      ordered[field.name] = map
    } else if (isChosen) {
      ordered[field.name] = field.isRepeated ? Array.from({ length: random(4) }, () => randomScalar(field, random)) : randomScalar(field, random)
    } else if (object[field.name] !== undefined) {
      ordered[field.name] = object[field.name]
    }
  }
  return ordered
}

test('1,000 random configs survive text and JSON', () => {
  const random = randomNumbers(7)
  for (let round = 0; round < 1_000; round++) {
    const config = randomMessage(MODEL_CONFIG_SCHEMA, random) as unknown as ReturnType<typeof readModelConfig>
    expect(readModelConfig(printModelConfig(config), '')).toEqual(config)
    expect(readModelConfigJson(printModelConfigJson(config))).toEqual(config)
  }
}, 60_000)
