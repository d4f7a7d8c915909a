import { describe, expect, it } from 'vitest'
import { decideClose } from './close-decision.ts'
import type { CloseAnswer } from './close-decision.ts'

const neverAsked = () => Promise.reject(new Error('asked'))
const answering = (answer: CloseAnswer) => () => Promise.resolve(answer)

describe('closing the window', () => {
  it('stops without a question when nothing serves, whatever the setting', async () => {
    for (const setting of [null, true, false]) expect(await decideClose(0, setting, neverAsked)).toEqual({ decision: 'stop', remember: false })
  })

  it('does what the setting says without a question', async () => {
    expect((await decideClose(2, true, neverAsked)).decision).toBe('keepServing')
    expect((await decideClose(2, false, neverAsked)).decision).toBe('stop')
  })

  it('asks where models serve and nothing is set, and remembers an answer when wanted', async () => {
    expect(await decideClose(2, null, answering({ decision: 'keepServing', remember: true }))).toEqual({ decision: 'keepServing', remember: true })
    expect(await decideClose(2, null, answering({ decision: 'stop', remember: false }))).toEqual({ decision: 'stop', remember: false })
  })

  it('never remembers a cancel', async () => {
    expect(await decideClose(1, null, answering({ decision: 'stay', remember: true }))).toEqual({ decision: 'stay', remember: false })
  })
})
