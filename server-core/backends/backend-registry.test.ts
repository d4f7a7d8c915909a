import { describe, expect, it } from 'vitest'
import { LogHub } from '../logger.ts'
import { serverOptions } from '../options.ts'
import type { Backend } from './backend.ts'
import { BackendRegistry } from './backend-registry.ts'

function registryOf(initialize: Backend['initialize'] = async () => {}) {
  const backend: Backend = { name: 'b', ...(initialize === undefined ? {} : { initialize }), initializeModel: () => Promise.reject(new Error('not in this test')) }
  const options = serverOptions({ backendConfig: { '': { 'default-max-batch-size': '2', x: 'all' }, b: { x: 'own' } } })
  return new BackendRegistry([backend], options, new LogHub())
}

describe('BackendRegistry', () => {
  it('initialises a backend once, with the settings of all overruled by its own', async () => {
    const given: unknown[] = []
    const registry = registryOf(async ({ backendConfig }) => { given.push(backendConfig) })
    await Promise.all([registry.find('b'), registry.find('b')])
    expect(given).toEqual([{ 'default-max-batch-size': '2', x: 'own' }])
  })

  it('tries again after a failed initialisation', async () => {
    let attempts = 0
    const registry = registryOf(async () => { if (attempts++ === 0) throw new Error('no library') })
    await expect(registry.find('b')).rejects.toThrow('no library')
    expect((await registry.find('b')).name).toBe('b')
  })

  it('leaves a name it does not have to the libraries, whose search is over when a model is loaded', async () => {
    const backend = await registryOf().find('tensorrt')
    expect(backend.name).toBe('tensorrt')
    expect(backend.initialize).toBeUndefined()
  })
})
