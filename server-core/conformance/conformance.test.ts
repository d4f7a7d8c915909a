/** The conformance suite: every fact of the protocol's sections 3 to 11, shown by a case over the wire. */
import { afterAll, describe, expect, it } from 'vitest'
import { ERROR_KINDS } from '../contract/errors.ts'
import { CASES } from './cases.ts'
import type { ConformanceCase, GrpcCase, HttpCase, InferCase } from './conformance-case.ts'
import { Conversation, errorOf, grpcInferRequest, grpcOutputs, httpOutputs } from './conversation.ts'
import { textPattern } from './fact.ts'
import { FACTS, type FactId } from './facts.ts'
import { ConformanceServers } from './servers.ts'

const servers = new ConformanceServers()
afterAll(() => servers.stop())

const matching = (text: string | RegExp): unknown => (typeof text === 'string' ? text : expect.stringMatching(text))

async function runHttp(conversation: Conversation, { call, status, error, body, json, headers = {} }: HttpCase): Promise<void> {
  const answer = await conversation.http(call)
  expect([answer.status, answer.text]).toEqual([status, body === undefined ? expect.any(String) : matching(body)])
  if (error !== undefined) expect(errorOf(answer.text)).toEqual(matching(error))
  if (json !== undefined) expect(JSON.parse(answer.text)).toMatchObject(json)
  for (const [name, value] of Object.entries(headers)) expect([name, answer.headers[name]]).toEqual([name, value])
}

async function runGrpc(conversation: Conversation, { method, request, error, reply }: GrpcCase): Promise<void> {
  if (error === undefined) expect(await conversation.grpc(method, request)).toMatchObject(reply ?? {})
  else expect(await conversation.grpcFailure(method, request)).toEqual({ code: ERROR_KINDS[error[0]].grpcStatus, details: matching(error[1]) })
}

async function runInfer(conversation: Conversation, { infer, error, outputs }: InferCase): Promise<void> {
  const answer = await conversation.inferHttp(infer)
  if (error === undefined) {
    expect([answer.status, httpOutputs(answer)]).toEqual([200, outputs])
    expect(grpcOutputs(await conversation.inferGrpc(infer))).toEqual(outputs)
    return
  }
  const [kind, text] = error
  expect([answer.status, errorOf(answer.text)]).toEqual([ERROR_KINDS[kind].httpStatus, matching(text)])
  expect(await conversation.grpcFailure('ModelInfer', grpcInferRequest(infer))).toEqual({ code: ERROR_KINDS[kind].grpcStatus, details: matching(text) })
}

async function runCase(conversation: Conversation, one: ConformanceCase): Promise<void> {
  if ('run' in one) await one.run(conversation)
  else if (one.transport === 'http') await runHttp(conversation, one)
  else if (one.transport === 'grpc') await runGrpc(conversation, one)
  else await runInfer(conversation, one)
  for (const id of one.facts) {
    const { statement, isText } = FACTS[id]
    if (!isText) continue
    const pattern = textPattern(statement)
    expect(conversation.heard.some((text) => pattern.test(text)), `${id}: no answer of this case contains: ${statement}\nanswers:\n${conversation.heard.join('\n')}`).toBe(true)
  }
}

describe('conformance', () => {
  it.each(CASES.map((one) => [`${one.facts.join(' ')} (${one.transport}): ${one.name}`, one] as const))('%s', async (_title, one) => {
    await runCase(new Conversation(await servers.get(one.server ?? 'main')), one)
  })
})

describe('coverage', () => {
  const proven = new Set(CASES.flatMap((one) => one.facts))
  const ids = Object.keys(FACTS) as FactId[]
  const unproven = (id: FactId): string | undefined => (FACTS[id] as { readonly unproven?: string }).unproven

  it('has a case for every fact that is not marked otherwise', () => {
    expect(ids.filter((id) => unproven(id) === undefined && !proven.has(id))).toEqual([])
  })

  it('marks no fact as unproven that a case names', () => {
    expect(ids.filter((id) => unproven(id) !== undefined && proven.has(id))).toEqual([])
  })

  it('gives each case a title of its own', () => {
    const titles = CASES.map((one) => `${one.facts.join(' ')} (${one.transport}): ${one.name}`)
    expect(titles.filter((title, index) => titles.indexOf(title) < index)).toEqual([])
  })
})
