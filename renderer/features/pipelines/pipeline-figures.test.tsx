import { describe, expect, it } from 'vitest'
import { ensembleExecution, ensembleGraph, graphStep, stepRun, stepStatistics } from '../../testing/ensembles.ts'
import { modelSample, serverSample } from '../../testing/models.ts'
import { longestRun, runBars, stepFigures, stepsSideBySide } from './pipeline-figures.ts'

const steps = [graphStep(0, 'cls'), graphStep(1, 'rec', { modelVersion: 2 })]

describe('stepFigures', () => {
  it('gives means, shares and the last run, and what waits and runs at the models', () => {
    const graph = ensembleGraph({
      steps, statistics: [stepStatistics(0, { count: 4, totalNanoseconds: 4e6, queueNanoseconds: 2e6 }), stepStatistics(1, { count: 4, totalNanoseconds: 12e6, failed: 1 })],
      executions: [ensembleExecution(1, 9, [stepRun(0, 0, 2)]), ensembleExecution(2, 9, [stepRun(0, 0, 3), stepRun(1, 0, 5, { error: 'no' })])],
    })
    const sample = serverSample(1, [modelSample('cls', { pending: 1, inFlight: 2 }), modelSample('cls', { version: '2', pending: 1 }), modelSample('rec', { pending: 9 }), modelSample('rec', { version: '2', inFlight: 3 })])
    expect(stepFigures(graph, sample)).toEqual([
      { step: steps[0], runs: 4, failed: 0, mean: 1, meanQueue: 0.5, share: 0.25, last: 3, pending: 2, inFlight: 2 },
      { step: steps[1], runs: 4, failed: 1, mean: 3, meanQueue: 0, share: 0.75, last: null, pending: 0, inFlight: 3 },
    ])
  })

  it('says unknown, not zero, before the first run and the first sample', () => {
    const [first] = stepFigures(ensembleGraph({ steps, statistics: [stepStatistics(0)] }), undefined)
    expect(first).toMatchObject({ runs: 0, mean: null, meanQueue: null, share: null, last: null, pending: null, inFlight: null })
  })
})

describe('runBars', () => {
  const execution = ensembleExecution(1, 20, [])

  it('lays waiting for a slot before the run, the measured parts in it, and the rest behind them', () => {
    const run = stepRun(0, 5, 15, { heldNanoseconds: 2e6, queueNanoseconds: 1e6, computeInputNanoseconds: 0.5e6, computeInferNanoseconds: 6e6, computeOutputNanoseconds: 0.5e6 })
    expect(runBars(run, execution, false)[0]?.part).toBe('queue')
    expect(runBars(run, execution, true)).toEqual([
      { part: 'held', start: 3, duration: 2 }, { part: 'queue', start: 5, duration: 1 }, { part: 'computeInput', start: 6, duration: 0.5 }, { part: 'computeInfer', start: 6.5, duration: 6 },
      { part: 'computeOutput', start: 12.5, duration: 0.5 }, { part: 'other', start: 13, duration: 2 },
    ])
  })

  it('never reaches beyond the run, and takes one that did not end to the end of the request', () => {
    expect(runBars(stepRun(0, 0, 1, { computeInferNanoseconds: 5e6 }), execution, true)).toEqual([{ part: 'computeInfer', start: 0, duration: 1 }])
    expect(runBars(stepRun(0, 12, null), execution, true)).toEqual([{ part: 'other', start: 12, duration: 8 }])
  })
})

describe('what a request shows', () => {
  it('names the steps that ran at the same time, not those that only touch', () => {
    expect(stepsSideBySide(ensembleExecution(1, 10, [stepRun(0, 0, 5), stepRun(1, 1, 6), stepRun(2, 6, 9)]))).toEqual([0, 1])
    expect(stepsSideBySide(ensembleExecution(1, 10, [stepRun(0, 0, 5), stepRun(1, 4.9, 9)]))).toEqual([])
    // Runs of one step are no two steps.
    expect(stepsSideBySide(ensembleExecution(1, 10, [stepRun(0, 0, 5), stepRun(0, 1, 6)]))).toEqual([])
  })

  it('finds the run that took longest', () => {
    expect(longestRun(ensembleExecution(1, 10, [stepRun(0, 0, 2), stepRun(1, 2, 9)]))).toMatchObject({ run: { step: 1 }, share: 0.7 })
    expect(longestRun(ensembleExecution(1, 10, []))).toBeNull()
  })
})
