import { describe, expect, it } from 'vitest'
import type { ModelInstanceGroup } from '../../contract/model-config.ts'
import { withPreferredGroups } from './native-model.ts'

const group = (more: Partial<ModelInstanceGroup> = {}): ModelInstanceGroup => (
  { name: 'm_0', kind: 'KIND_CPU', count: 1, gpus: [], secondary_devices: [], profile: [], passive: false, host_policy: '', ...more }
)
const gpus = { kind: 'KIND_GPU', count: 2, gpus: [0] }
const model = { kind: 'KIND_MODEL', count: 3, gpus: [] }

describe('instance groups that a backend prefers', () => {
  it('serve a config that has none: the first that this machine can have', () => {
    expect(withPreferredGroups([group()], [], [gpus, model])).toEqual([group({ kind: 'KIND_MODEL', count: 3 })])
    expect(withPreferredGroups([group()], [], [gpus])).toBeNull()
    expect(withPreferredGroups([group()], [], [])).toBeNull()
  })

  it('give their kind to groups that leave it open, and their count where none is written', () => {
    const written = [group({ kind: 'KIND_AUTO', count: 0 }), group({ kind: 'KIND_AUTO', count: 5 }), group({ kind: 'KIND_CPU', count: 0 })]
    expect(withPreferredGroups(written.map((one) => group({ count: Math.max(1, one.count) })), written, [model])).toEqual([
      group({ kind: 'KIND_MODEL', count: 3 }), group({ kind: 'KIND_MODEL', count: 5 }), group({ kind: 'KIND_CPU', count: 1 }),
    ])
  })

  it('change nothing in groups that say their kind', () => {
    expect(withPreferredGroups([group()], [group({ kind: 'KIND_CPU' })], [model])).toBeNull()
  })
})
