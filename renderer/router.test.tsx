import { describe, expect, it } from 'vitest'
import { followAddress, navigate, parseRoute, routeHash, useRoute } from './router.ts'

describe('addresses', () => {
  it.each([['', '', []], ['#/', '', []], ['#/models', 'models', []], ['#/models/ppocr_rec/test', 'models', ['ppocr_rec', 'test']], ['#/models/a%2Fb%20c', 'models', ['a/b c']], ['#/models/100%', 'models', ['100%']]] as const)('reads %s', (hash, page, rest) => {
    expect(parseRoute(hash)).toEqual({ page, rest })
  })

  it('writes what it reads back, whatever the name holds', () => {
    const name = 'model: 100% / "识别"'
    expect(parseRoute(routeHash('models', name, 'test'))).toEqual({ page: 'models', rest: [name, 'test'] })
  })

  it('follows the address bar', async () => {
    followAddress()
    const changed = new Promise((resolve) => window.addEventListener('hashchange', resolve, { once: true }))
    navigate('models', 'rec')
    await changed
    expect(useRoute.getState()).toEqual({ page: 'models', rest: ['rec'] })
  })
})
