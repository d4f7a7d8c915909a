import type { ExecutionTimes } from '../backends/backend.ts'
import type { Clock } from '../clock.ts'
import type { EnsembleGraph } from '../contract/ensemble.ts'
import type { ModelConfig } from '../contract/model-config.ts'
import type { Logger } from '../logger.ts'
import { ServerError } from '../server-error.ts'
import { ensembleEdges, ensembleGraphSteps } from './ensemble-edges.ts'
import type { EnsembleMember, FindEnsembleMember } from './ensemble-member.ts'
import { EnsemblePlan } from './ensemble-plan.ts'
import { EnsembleRun } from './ensemble-run.ts'
import { EnsembleTrace } from './ensemble-trace.ts'
import type { InflightRequest } from './inflight-request.ts'
import { stoppingError } from './refusals.ts'
import type { Scheduler } from './scheduler.ts'
import { StepLimiter } from './step-limiter.ts'

export interface EnsembleSchedulerOptions {
  /** Complete, normalised and checked against its members. */
  readonly config: ModelConfig
  readonly version: string
  readonly findMember: FindEnsembleMember
  readonly clock: Clock
  readonly log: Logger
  /** Once per request that succeeded: an ensemble counts as one execution. */
  readonly onExecuted: (batchSize: number, times: ExecutionTimes) => void
  /** Once per request that failed, besides its own failure. */
  readonly onFailed: (durationNanoseconds: number) => void
}

/**
 * Runs the steps of an ensemble. No request waits here: each goes its own way through the composing models, whose schedulers batch the
 * requests of the steps with everybody else's. The members of a request are held until it is done, so that none is unloaded under it.
 */
export class EnsembleScheduler implements Scheduler {
  readonly #options: EnsembleSchedulerOptions
  readonly #plan: EnsemblePlan
  readonly #limiters: readonly StepLimiter[] | null
  readonly #trace: EnsembleTrace
  readonly #runs = new Map<InflightRequest, EnsembleRun>()
  /** Members kept serving for requests that an outer ensemble is still to send. */
  readonly #kept = new Set<readonly EnsembleMember[]>()
  readonly #graph: Omit<EnsembleGraph, 'statistics' | 'executions'>
  #isStopped = false

  constructor(options: EnsembleSchedulerOptions) {
    const { config, clock, version } = options
    this.#options = options
    this.#plan = new EnsemblePlan(config)
    const maxInflightRequests = config.ensemble_scheduling?.max_inflight_requests ?? 0
    this.#limiters = maxInflightRequests > 0 ? this.#plan.steps.map(() => new StepLimiter(maxInflightRequests, clock)) : null
    this.#trace = new EnsembleTrace(this.#plan.steps.length)
    const members = this.#members()
    this.#graph = {
      name: config.name, version, isDecoupled: config.model_transaction_policy?.decoupled === true, maxInflightRequests,
      steps: ensembleGraphSteps(this.#plan, members), edges: ensembleEdges(config, this.#plan, members),
    }
  }

  enqueue(request: InflightRequest): void {
    if (this.#isStopped) throw stoppingError(request.id)
    const { config, clock, log, onExecuted, onFailed } = this.#options
    request.markExecuting()
    let members: readonly EnsembleMember[]
    try {
      members = this.#members(request)
    } catch (error) {
      const kept = [...this.#kept].at(-1)
      if (kept === undefined) {
        this.#refuse(request, error as Error)
        return
      }
      members = kept
    }
    const releases = [...new Set(members)].map((member) => member.hold())
    const record = this.#trace.begin(request.id, request.requestStart)
    const run = new EnsembleRun({
      ensemble: config.name, plan: this.#plan, request, members, limiters: this.#limiters, record, clock, log,
      onEnd: (error, times) => {
        this.#runs.delete(request)
        const totalNanoseconds = clock.now() - request.requestStart
        record.finish({
          finishedAt: clock.wallMilliseconds(), totalNanoseconds, error: error?.message ?? null,
          outcome: error === null ? 'success' : error.kind === 'CANCELLED' ? 'cancelled' : 'failure',
        })
        this.#trace.keep(record)
        if (times === null) onFailed(totalNanoseconds)
        else onExecuted(Math.max(1, request.batchSize), times)
        for (const release of releases) release()
      },
    })
    this.#runs.set(request, run)
    run.start()
  }

  cancel(request: InflightRequest): void {
    request.isCancelled = true
    this.#runs.get(request)?.cancel()
  }

  stopAccepting(): void { this.#isStopped = true }

  /**
   * An outer ensemble is on its way here: the members serve until its request is done, also when they are being unloaded meanwhile.
   * @returns what lets them go again
   */
  holdMembers(): () => void {
    let members: readonly EnsembleMember[]
    try {
      members = this.#members()
    } catch {
      // One is gone already: the request itself is refused with the reason when it comes.
      return () => {}
    }
    this.#kept.add(members)
    const releases = [...new Set(members)].map((member) => member.hold())
    return () => {
      this.#kept.delete(members)
      for (const release of releases) release()
    }
  }

  /** Every request is under way in the members, which settle it. */
  failWaiting(): void {}

  graph(): EnsembleGraph { return { ...this.#graph, statistics: this.#trace.statistics(), executions: this.#trace.executions() } }

  /** By step. @throws ServerError with the lookup texts */
  #members(request?: InflightRequest): EnsembleMember[] {
    return this.#plan.steps.map((step) => this.#options.findMember(step.modelName, step.modelVersion, request))
  }

  #refuse(request: InflightRequest, error: Error): void {
    const { config, clock, onFailed } = this.#options
    onFailed(clock.now() - request.requestStart)
    const kind = error instanceof ServerError ? error.kind : 'INTERNAL'
    request.settle({ kind: 'failure', reason: 'OTHER', error: new ServerError(kind, `in ensemble '${config.name}', ${error.message}`, { cause: error }) })
  }
}
