/** What the server's texts about a failed model.py say: the exception with its frames, or how the process ended and what it wrote last. */
import type { LogEntry } from '../../server-core/contract/console-api.ts'

export interface PythonFrame {
  readonly file: string
  readonly line: number
  readonly name: string
}

export interface PythonFailure {
  /** `ValueError: bad value`, or `It was killed by SIGSEGV.`; '' : only that the process is not healthy. */
  readonly summary: string
  /** Innermost first; empty: the process ended, or it was not the model's code. */
  readonly frames: readonly PythonFrame[]
  /** What the process wrote last to standard error; '' : nothing, or the text does not tell. */
  readonly lastLines: string
  /** Name of the instance whose process ended; null: it did not. */
  readonly endedInstance: string | null
}

const FRAME = /^ {2}(?<file>.+)\((?<line>\d+)\): (?<name>.+)$/
const ENDED = /Stub process '(?<instance>[^']*)' is not healthy\.(?: (?<how>.*?))?(?: Its last lines:\n(?<last>[^]*))?$/
/** What faulthandler writes where the process dies in native code. */
const STACK_HEAD = '(most recent call first)'
const STACK_FRAME = /File "(?<file>[^"]+)", line (?<line>\d+)(?:,)? in (?<name>[^\n]+)/g

/** @returns null: the text is about something else */
export function readPythonFailure(text: string): PythonFailure | null {
  const ended = ENDED.exec(text)?.groups
  if (ended !== undefined) {
    const lastLines = (ended['last'] ?? '').trimEnd()
    return { summary: (ended['how'] ?? '').trim(), frames: stackFrames(lastLines), lastLines, endedInstance: ended['instance'] ?? null }
  }
  const [head = '', rest] = text.split('\n\nAt:\n')
  if (rest === undefined) return null
  const frames: PythonFrame[] = []
  for (const line of rest.split('\n')) {
    const groups = FRAME.exec(line)?.groups
    if (groups === undefined) break
    frames.push({ file: groups['file'] ?? '', line: Number(groups['line']), name: groups['name'] ?? '' })
  }
  if (frames.length === 0) return null
  // Before the exception stands which requests failed, or the kind of the error.
  const summary = head.replace(/^[^]*?, message: /, '').replace(/^(?:Internal|Unavailable|Invalid argument|Unknown): /, '').trim()
  return { summary, frames, lastLines: '', endedInstance: null }
}

/** Frames of the stack that a crash left, innermost first. A traceback before it may be that of an earlier request, which says nothing about the end. */
function stackFrames(lines: string): readonly PythonFrame[] {
  const start = lines.lastIndexOf(STACK_HEAD)
  if (start < 0) return []
  return [...lines.slice(start).matchAll(STACK_FRAME)].map(({ groups = {} }) => ({ file: groups['file'] ?? '', line: Number(groups['line']), name: (groups['name'] ?? '').trim() }))
}

/** Where to look: the innermost frame of a file of the model, else the innermost. */
export function placeOfFailure({ frames }: PythonFailure, modelDirectory: string): PythonFrame | null {
  return frames.find(({ file }) => file.startsWith(`${modelDirectory}/`)) ?? frames[0] ?? null
}

/** `1/model.py:12`, relative to the model's folder where it lies in it. */
export function formatFrame({ file, line }: PythonFrame, modelDirectory: string): string {
  return `${file.startsWith(`${modelDirectory}/`) ? file.slice(modelDirectory.length + 1) : file}:${line}`
}

/**
 * The whole traceback of an exception as Python wrote it, with its source lines and what caused it: the last one in the log of the model that ends in this
 * exception; null: the log has none.
 */
export function tracebackIn(log: readonly LogEntry[], model: string, summary: string): string | null {
  const lines = log.filter(({ fields }) => fields['model'] === model && fields['stream'] === 'stderr').map(({ message }) => message)
  const wanted = summary.split('\n')[0] ?? ''
  const end = lines.findLastIndex((line) => line === wanted || line.endsWith(`.${wanted}`))
  if (wanted === '' || end < 0) return null
  let start = end
  // Tracebacks that led to it stand before it, each after a sentence and an empty line.
  for (let index = end; index >= 0 && isOfTraceback(lines, index, end); index--) if (lines[index]?.startsWith('Traceback (most recent call last)')) start = index
  if (start === end) return null
  const more = summary.split('\n').length - 1
  return lines.slice(start, end + 1 + more).join('\n')
}

const LINKS = ['During handling of the above exception, another exception occurred:', 'The above exception was the direct cause of the following exception:']

function isOfTraceback(lines: readonly string[], index: number, end: number): boolean {
  if (index === end) return true
  const line = lines[index] ?? ''
  if (line === '' || line.startsWith(' ') || line.startsWith('Traceback (') || LINKS.includes(line)) return true
  // The exception that a linked traceback ended in.
  return lines[index + 1] === '' && LINKS.includes(lines[index + 2] ?? '')
}

/** How the process of an instance ended when it did so last, with its last lines, as the log tells; null: it does not. */
export function lastDeathIn(log: readonly LogEntry[], model: string, instance: string): string | null {
  const entry = log.findLast(({ message, fields }) => message === 'model instance died' && fields['model'] === model && fields['instance'] === instance)
  return entry === undefined ? null : String(entry.fields['error'])
}
