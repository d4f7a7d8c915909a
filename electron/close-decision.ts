/** What closing the window means while models serve. Pure but for the question. */

export type CloseDecision = 'keepServing' | 'stop' | 'stay'

export interface CloseAnswer {
  readonly decision: CloseDecision
  /** Do the same from now on, without asking. */
  readonly remember: boolean
}

/**
 * @param keepServingOnClose the setting; null: ask
 * @param ask shows the question; called only where models serve and the setting does not answer it
 */
export async function decideClose(
  readyModelCount: number,
  keepServingOnClose: boolean | null,
  ask: (readyModelCount: number) => Promise<CloseAnswer>,
): Promise<CloseAnswer> {
  if (readyModelCount === 0) return { decision: 'stop', remember: false }
  if (keepServingOnClose !== null) return { decision: keepServingOnClose ? 'keepServing' : 'stop', remember: false }
  const answer = await ask(readyModelCount)
  return answer.decision === 'stay' ? { decision: 'stay', remember: false } : answer
}
