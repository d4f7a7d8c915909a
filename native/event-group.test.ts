/** A group of events with one that JavaScript cannot have: the addon's own code, with events that no backend of a test could cause. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { readEvents } from '../server-core/backends/native/event-group.ts'
import { EVENT } from '../server-core/backends/native/host-events.ts'
import { BUILD_MILLISECONDS, buildDirectory, buildPreset } from './test-build.ts'

type MadeEvent = 'small' | 'text' | 'large output' | 'long text'
interface EventGroupAddon { group(numbers: Float64Array, events: readonly MadeEvent[]): [count: number, values: readonly unknown[]] }

const NUMBERS_OF_GROUP = 1024
/** TRITONSERVER_ERROR_INTERNAL */
const INTERNAL = 1

describe('a group of events', () => {
  beforeAll(() => buildPreset('test', 'event_group_addon'), BUILD_MILLISECONDS)

  it.each([
    ['large output', /size|length|larger/i],
    ['long text', /Invalid argument/],
  ] as const)('with a %s that JavaScript cannot have costs that event its content, and the others nothing', (lost, reason) => {
    const addon = createRequire(import.meta.url)(join(buildDirectory('test'), 'test/addon/event_group_addon.node')) as EventGroupAddon
    const numbers = new Float64Array(NUMBERS_OF_GROUP)
    const [count, values] = addon.group(numbers, ['small', lost, 'text', lost, 'small'])
    const events = readEvents(numbers, count, values)
    const whole = { kind: EVENT.response, flags: 1, isEmpty: false }
    const tensors = ['Y', 2, [2], Uint8Array.of(5, 6)]
    expect(events.map((event) => event.token)).toEqual([1, 2, 3, 4, 5])
    expect([events[0], events[4]]).toEqual([{ ...whole, token: 1, tensors, parameters: [] }, { ...whole, token: 5, tensors, parameters: [] }])
    expect(events[2]).toMatchObject({ ...whole, token: 3, parameters: ['said', 'text'] })
    for (const index of [1, 3]) {
      expect(events[index]).toMatchObject({ kind: EVENT.response, flags: 1, tensors: [], parameters: [], errorCode: INTERNAL })
      expect(events[index]?.errorMessage).toMatch(/^the backend host could not hand over what the backend gave \(/)
      expect(events[index]?.errorMessage).toMatch(reason)
    }
  })
})
