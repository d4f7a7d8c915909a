import { expect, it } from 'vitest'
import { ResponseOrder } from './response-order.ts'

it('delivers answers in the order of the requests', () => {
  const order = new ResponseOrder()
  const delivered: string[] = []
  const [first, second, third] = [order.take(), order.take(), order.take()]
  second(() => delivered.push('second'))
  expect(delivered).toEqual([])
  first(() => delivered.push('first'))
  expect(delivered).toEqual(['first', 'second'])
  const fourth = order.take()
  fourth(() => delivered.push('fourth'))
  third(() => delivered.push('third'))
  expect(delivered).toEqual(['first', 'second', 'third', 'fourth'])
})
