import { describe, expect, it } from 'vitest'
import { ResponseOrder } from './response-order.ts'

function setUp() {
  const order = new ResponseOrder()
  const delivered: string[] = []
  const take = () => {
    const hand = order.take()
    return { last: (text: string) => { hand(() => { delivered.push(text) }, true) }, part: (text: string) => { hand(() => { delivered.push(text) }, false) }, hand }
  }
  return { take, delivered }
}

describe('ResponseOrder', () => {
  it('delivers answers in the order of the requests', () => {
    const { take, delivered } = setUp()
    const [first, second, third] = [take(), take(), take()]
    second.last('second')
    expect(delivered).toEqual([])
    first.last('first')
    expect(delivered).toEqual(['first', 'second'])
    const fourth = take()
    fourth.last('fourth')
    third.last('third')
    expect(delivered).toEqual(['first', 'second', 'third', 'fourth'])
  })

  it('delivers the parts of the first at once and keeps those of later ones', () => {
    const { take, delivered } = setUp()
    const [first, second] = [take(), take()]
    second.part('second 1')
    first.part('first 1')
    second.last('second 2')
    expect(delivered).toEqual(['first 1'])
    first.last('first 2')
    expect(delivered).toEqual(['first 1', 'first 2', 'second 1', 'second 2'])
  })

  it('keeps the order when an answer is handed in while another is delivered', () => {
    const { take, delivered } = setUp()
    const [first, second] = [take(), take()]
    first.hand(() => {
      second.last('second')
      delivered.push('first')
    }, true)
    expect(delivered).toEqual(['first', 'second'])
  })

  it('goes on when a delivery throws', () => {
    const { take, delivered } = setUp()
    const [first, second] = [take(), take()]
    expect(() => { first.hand(() => { throw new Error('gone') }, true) }).toThrow('gone')
    second.last('second')
    expect(delivered).toEqual(['second'])
  })
})
