/** What the machine itself takes to wake another thread and to be woken by it: no design with a thread an instance can do with less. */
import { Worker } from 'node:worker_threads'
import { steadyNanoseconds } from '../clock.ts'

const WARM_UP = 1_000
const ROUND_TRIPS = 5_000
/** Ends the other thread. */
const OVER = 2

/** The other side: waits for a turn and gives it back. */
const PARTNER = `
  const { workerData: turn } = require('node:worker_threads')
  while (Atomics.wait(turn, 0, 0), turn[0] !== ${OVER}) { Atomics.store(turn, 0, 0); Atomics.notify(turn, 0) }
`

/** @returns median in microseconds */
export async function threadRoundTrip(): Promise<number> {
  const turn = new Int32Array(new SharedArrayBuffer(4))
  const partner = new Worker(PARTNER, { eval: true, workerData: turn })
  await new Promise((resolve) => { partner.once('online', resolve) })
  const microseconds: number[] = []
  for (let trip = 0; trip < WARM_UP + ROUND_TRIPS; trip++) {
    const started = steadyNanoseconds()
    Atomics.store(turn, 0, 1)
    Atomics.notify(turn, 0)
    Atomics.wait(turn, 0, 1)
    if (trip >= WARM_UP) microseconds.push((steadyNanoseconds() - started) / 1000)
  }
  Atomics.store(turn, 0, OVER)
  Atomics.notify(turn, 0)
  await partner.terminate()
  return microseconds.toSorted((a, b) => a - b)[ROUND_TRIPS / 2] ?? NaN
}
