import { beforeEach, describe, expect, it } from 'vitest'
import { PageInbox } from './page-inbox.ts'

let sent: unknown[]
let inbox: PageInbox

beforeEach(() => {
  sent = []
  inbox = new PageInbox((channel, value) => { sent.push([channel, value]) })
})

describe('page inbox', () => {
  it('keeps the last state and every action until the page listens', () => {
    inbox.setLatest('state', 1)
    inbox.setLatest('state', 2)
    inbox.post('action', 'a')
    inbox.post('action', 'b')
    expect(sent).toEqual([])
    inbox.pageListens('state')
    inbox.pageListens('action')
    expect(sent).toEqual([['state', 2], ['action', 'a'], ['action', 'b']])
  })

  it('passes on at once to a page that listens, an action only once', () => {
    inbox.pageListens('state')
    inbox.pageListens('action')
    inbox.setLatest('state', 3)
    inbox.post('action', 'c')
    inbox.pageListens('action')
    expect(sent).toEqual([['state', 3], ['action', 'c']])
  })

  it('waits again after a reload', () => {
    inbox.pageListens('state')
    inbox.setLatest('state', 1)
    inbox.pageReplaced()
    inbox.setLatest('state', 2)
    expect(sent).toEqual([['state', 1]])
    inbox.pageListens('state')
    expect(sent).toEqual([['state', 1], ['state', 2]])
  })
})
