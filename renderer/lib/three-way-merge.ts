/** Merges two texts that began as the same one, line by line. What only one side changed is taken; where both did, a person chooses. */
import { diffLines, splitLines } from './line-diff.ts'
import type { LineChange } from './line-diff.ts'

export interface MergeChunk {
  /** 'theirs' and 'mine': only that side changed it. 'both': the two made the same change. 'conflict': they differ. */
  readonly kind: 'unchanged' | 'theirs' | 'mine' | 'both' | 'conflict'
  readonly base: string
  readonly theirs: string
  readonly mine: string
}

/** Joined, the parts of each side are its text. */
export function mergeTexts(base: string, theirs: string, mine: string): MergeChunk[] {
  const [baseLines, theirLines, myLines] = [splitLines(base), splitLines(theirs), splitLines(mine)]
  const theirChanges = diffLines(baseLines, theirLines)
  const myChanges = diffLines(baseLines, myLines)
  const chunks: MergeChunk[] = []
  let [at, theirShift, myShift, theirNext, myNext] = [0, 0, 0, 0, 0]
  const push = (from: number, to: number, theirEnd: number, myEnd: number, isStable: boolean) => {
    const chunk = {
      base: baseLines.slice(from, to).join(''), theirs: theirLines.slice(from + theirShift, theirEnd).join(''), mine: myLines.slice(from + myShift, myEnd).join(''),
    }
    if (chunk.base === '' && chunk.theirs === '' && chunk.mine === '') return
    chunks.push({ kind: isStable ? 'unchanged' : kindOf(chunk), ...chunk })
  }
  while (theirNext < theirChanges.length || myNext < myChanges.length) {
    const start = Math.min(theirChanges[theirNext]?.aStart ?? Infinity, myChanges[myNext]?.aStart ?? Infinity)
    push(at, start, start + theirShift, start + myShift, true)
    // Changes that overlap or touch belong to one region.
    let end = start
    const theirs: LineChange[] = []
    const mine: LineChange[] = []
    for (;;) {
      const theirChange = theirChanges[theirNext]
      const myChange = myChanges[myNext]
      if (theirChange && (theirChange.aStart < end || theirChange.aStart === start || (theirChange.aStart === end && mine.length > 0))) {
        theirs.push(theirChange)
        theirNext++
        end = Math.max(end, theirChange.aEnd)
      } else if (myChange && (myChange.aStart < end || myChange.aStart === start || (myChange.aStart === end && theirs.length > 0))) {
        mine.push(myChange)
        myNext++
        end = Math.max(end, myChange.aEnd)
      } else break
    }
    const [newTheirShift, newMyShift] = [theirShift + growth(theirs), myShift + growth(mine)]
    push(start, end, end + newTheirShift, end + newMyShift, false)
    ;[at, theirShift, myShift] = [end, newTheirShift, newMyShift]
  }
  push(at, baseLines.length, theirLines.length, myLines.length, true)
  return chunks
}

function growth(changes: readonly LineChange[]): number {
  return changes.reduce((sum, change) => sum + (change.bEnd - change.bStart) - (change.aEnd - change.aStart), 0)
}

function kindOf({ base, theirs, mine }: Omit<MergeChunk, 'kind'>): MergeChunk['kind'] {
  if (theirs === mine) return 'both'
  if (mine === base) return 'theirs'
  return theirs === base ? 'mine' : 'conflict'
}

export type ConflictChoice = 'theirs' | 'mine' | 'theirsThenMine'

/** The text of the merge. `choices` by position of the chunk; an unanswered conflict is mine. */
export function mergedText(chunks: readonly MergeChunk[], choices: Readonly<Record<number, ConflictChoice>>): string {
  return chunks.map((chunk, index) => chunkText(chunk, choices[index])).join('')
}

export function chunkText(chunk: MergeChunk, choice: ConflictChoice = 'mine'): string {
  switch (chunk.kind) {
    case 'unchanged': return chunk.base
    case 'theirs': return chunk.theirs
    case 'mine':
    case 'both': return chunk.mine
    case 'conflict': return choice === 'theirs' ? chunk.theirs : choice === 'mine' ? chunk.mine : withLineEnd(chunk.theirs) + chunk.mine
  }
}

function withLineEnd(text: string): string {
  return text === '' || /[\r\n]$/.test(text) ? text : `${text}\n`
}
