/**
 * Characters that look right but are not: full-width punctuation, curly quotes, no-break spaces, `//` comments, `=` for `:`. Each is named
 * and replaced; the text with all of them replaced, of the same length, is what the other rules of grammar look at.
 */
import type { TextEdit } from '../../contract/config-language.ts'
import { indentAt, restOfLine } from '../config-style.ts'
import type { PbtxtToken, PbtxtTree } from '../pbtxt-tree.ts'
import { otherFix, preferredFix, say } from './rule.ts'
import type { Finding } from './rule.ts'

export interface CleanedText {
  readonly text: string
  readonly findings: readonly Finding[]
}

const NAMES: Readonly<Record<string, readonly [en: string, zh: string]>> = {
  '：': ['full-width colon', '全角冒号'], '，': ['full-width comma', '全角逗号'], '；': ['full-width semicolon', '全角分号'],
  '｛': ['full-width brace', '全角花括号'], '｝': ['full-width brace', '全角花括号'], '［': ['full-width bracket', '全角方括号'], '］': ['full-width bracket', '全角方括号'],
  '【': ['lenticular bracket', '方头括号'], '】': ['lenticular bracket', '方头括号'], '（': ['full-width parenthesis', '全角圆括号'], '）': ['full-width parenthesis', '全角圆括号'],
  '＜': ['full-width angle bracket', '全角尖括号'], '＞': ['full-width angle bracket', '全角尖括号'], '－': ['full-width minus', '全角减号'], '．': ['full-width dot', '全角句点'],
  '＃': ['full-width number sign', '全角井号'], '“': ['curly quote', '弯引号'], '”': ['curly quote', '弯引号'], '‘': ['curly quote', '弯引号'], '’': ['curly quote', '弯引号'],
  '＂': ['full-width quote', '全角引号'], '＇': ['full-width quote', '全角引号'], '\u00a0': ['no-break space', '不换行空格'], '\u3000': ['ideographic space', '全角空格'],
  '\u200b': ['zero-width space', '零宽空格'], '\ufeff': ['byte order mark', '字节序标记'],
}

/** Edits that repair one occurrence, shared by "replace all". More occurrences than this, and only the first offers it. */
const REPLACE_ALL_LIMIT = 200

/** Longer runs of foreign characters are cut into several findings. */
const LONGEST_RUN = 200

interface Occurrence {
  readonly finding: Omit<Finding, 'fixes'>
  readonly title: readonly [en: string, zh: string]
  readonly edits: readonly TextEdit[]
  readonly isPunctuation: boolean
}

export function cleanText(tree: PbtxtTree): CleanedText {
  const occurrences: Occurrence[] = []
  const pieces: string[] = []
  let copied = 0
  const replace = (offset: number, length: number, text: string): void => {
    pieces.push(tree.text.slice(copied, offset), text)
    copied = offset + length
  }
  let skipUntil = 0
  const { tokens } = tree
  const lastClosing = tree.text.lastIndexOf('*/')
  for (const token of tokens) {
    if (token.offset < skipUntil) continue
    const comment = commentAt(tree, token, lastClosing)
    if (comment !== null) {
      occurrences.push(comment.occurrence)
      replace(token.offset, comment.end - token.offset, tree.text.slice(token.offset, comment.end).replace(/[^\n\r]/g, ' '))
      skipUntil = comment.end
      continue
    }
    if (token.kind === 'bom') occurrences.push(byteOrderMark(token))
    else if (token.text === '=' && token.kind === 'symbol') {
      occurrences.push(equalsSign(tree.text, token))
      replace(token.offset, 1, ':')
    } else if (token.isBroken) foreignCharacters(tree, token, occurrences, replace)
  }
  pieces.push(tree.text.slice(copied))
  return { text: pieces.join(''), findings: toFindings(occurrences) }
}

function toFindings(occurrences: readonly Occurrence[]): Finding[] {
  const punctuation = occurrences.filter((occurrence) => occurrence.isPunctuation)
  const all = punctuation.length < 2 ? [] : [otherFix(
    `Replace all ${punctuation.length} such characters`, `全部替换（${punctuation.length} 处）`, punctuation.flatMap((occurrence) => [...occurrence.edits]))]
  return occurrences.map((occurrence) => {
    const offersAll = occurrence.isPunctuation && (punctuation.length <= REPLACE_ALL_LIMIT || occurrence === punctuation[0])
    return { ...occurrence.finding, fixes: [preferredFix(...occurrence.title, occurrence.edits), ...(offersAll ? all : [])] }
  })
}

function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}

function byteOrderMark(token: PbtxtToken): Occurrence {
  return {
    finding: {
      code: 'byte-order-mark', severity: 'warning', span: { start: token.offset, end: token.offset + 1 },
      message: say('The file begins with a byte order mark, which some servers refuse.', '文件以字节序标记（BOM）开头，部分服务器会拒绝。'),
    },
    title: ['Remove the byte order mark', '删除字节序标记'], edits: [{ offset: token.offset, length: 1, text: '' }], isPunctuation: false,
  }
}

function equalsSign(text: string, token: PbtxtToken): Occurrence {
  let start = token.offset
  while (text.charAt(start - 1) === ' ') start--
  return {
    finding: {
      code: 'equals-sign', severity: 'error', span: { start: token.offset, end: token.offset + 1 },
      message: say('Name and value are separated by ":", not by "=".', '名称与值之间用“:”分隔，不用“=”。'),
    },
    title: ['Replace "=" with ":"', '将“=”改为“:”'], edits: [{ offset: start, length: token.offset + 1 - start, text: ':' }], isPunctuation: false,
  }
}

function foreignCharacters(tree: PbtxtTree, token: PbtxtToken, found: Occurrence[], replace: (offset: number, length: number, text: string) => void): void {
  const first = token.text.charAt(0)
  if (token.kind === 'string') {
    if (first === '"' || first === '\'') { closeString(token, first, found, replace); return }
    const quote = first === '‘' ? '\'' : '"'
    const last = token.text.charAt(token.text.length - 1)
    const end = token.offset + token.text.length
    replace(token.offset, 1, quote)
    replace(end - 1, 1, quote)
    found.push({ ...confusable(token.offset, last === quote ? first : first + last, quote, { start: token.offset, end }), edits: [
      { offset: token.offset, length: 1, text: quote }, ...(last === quote ? [] : [{ offset: end - 1, length: 1, text: quote }]),
    ] })
    return
  }
  if (token.kind === 'stray') {
    const isControl = first.charCodeAt(0) < 32
    const isInvisible = /[\u200b\u2060\ufeff]/.test(first)
    replace(token.offset, token.text.length, ' '.repeat(token.text.length))
    found.push(isControl ? {
      finding: {
        code: 'control-character', severity: 'error', span: { start: token.offset, end: token.offset + token.text.length },
        message: say('A control character stands here.', '此处有控制字符。'),
      },
      title: ['Remove it', '删除'], edits: [{ offset: token.offset, length: token.text.length, text: '' }], isPunctuation: true,
    } : strangeSpace(token, first, isInvisible ? '' : ' '))
    return
  }
  if (token.kind !== 'symbol' || first.charCodeAt(0) < 128) return
  const meant = token.meant ?? asciiForm(token.text)
  replace(token.offset, token.text.length, (meant ?? ' ').padEnd(token.text.length))
  const before = found[found.length - 1]
  if (meant !== null) {
    const span = before?.finding.span
    const isRun = /[A-Za-z0-9]/.test(meant) && before?.finding.code === 'full-width-character' && span?.end === token.offset
      && token.offset - span.start < LONGEST_RUN && /[A-Za-z0-9]$/.test(before.edits[0]?.text ?? '')
    if (!isRun || before === undefined || span === undefined) { found.push(confusable(token.offset, token.text, meant)); return }
    const word = (before.edits[0]?.text ?? '') + meant
    found[found.length - 1] = confusable(span.start, tree.text.slice(span.start, token.offset + token.text.length), word)
    return
  }
  // A run of foreign letters is one finding.
  if (before?.finding.code === 'non-ascii-text' && before.finding.span?.end === token.offset && token.offset - before.finding.span.start < LONGEST_RUN) {
    found[found.length - 1] = foreignText(tree, before.finding.span.start, token.offset + token.text.length)
  } else found.push(foreignText(tree, token.offset, token.offset + token.text.length))
}

/** `Ａ` to `A`: full-width letters and digits. */
function asciiForm(character: string): string | null {
  const plain = character.normalize('NFKC')
  return plain.length === 1 && plain.charCodeAt(0) < 128 && plain.charCodeAt(0) > 32 ? plain : null
}

function strangeSpace(token: PbtxtToken, character: string, replacement: string): Occurrence {
  const [en, zh] = NAMES[character] ?? ['unusual space', '特殊空格']
  const mark = codePointName(character)
  return {
    finding: {
      code: 'no-break-space', severity: 'error', span: { start: token.offset, end: token.offset + token.text.length },
      message: say(`A ${en} (${mark}) stands here, pasted from a web page perhaps; only plain spaces are allowed.`, `此处是${zh}（${mark}），可能由网页粘贴而来；只允许普通空格。`),
    },
    title: replacement === '' ? ['Remove it', '删除'] : ['Replace it with a space', '替换为普通空格'],
    edits: [{ offset: token.offset, length: token.text.length, text: replacement }], isPunctuation: true,
  }
}

/** A string that goes on to the end of its line: its closing quote is a curly one, or missing. */
function closeString(token: PbtxtToken, quote: string, found: Occurrence[], replace: (offset: number, length: number, text: string) => void): void {
  if (isClosed(token.text, quote)) return // a bad escape: another rule's
  const at = token.text.search(quote === '"' ? /[”“＂]/ : /[’‘＇]/)
  if (at >= 0) {
    replace(token.offset + at, 1, quote)
    found.push(confusable(token.offset + at, token.text.charAt(at), quote))
    return
  }
  // Brackets and separators at the end of the line were hardly meant to be part of the string.
  const kept = Math.max(1, token.text.length - (/[\s}\],;]*$/.exec(token.text.slice(-LONGEST_RUN))?.[0].length ?? 0))
  const end = token.offset + kept
  const isRoom = token.text.charAt(kept) === ' ' || kept > 1
  if (isRoom) replace(token.text.charAt(kept) === ' ' ? end : end - 1, 1, quote)
  found.push({
    finding: {
      code: 'unclosed-string', severity: 'error', span: { start: token.offset, end },
      message: say('The string is not closed on its line.', '字符串没有在本行内结束。'),
    },
    title: [`Insert ${quote}`, `插入 ${quote}`], edits: [{ offset: end, length: 0, text: quote }], isPunctuation: false,
  })
}

function isClosed(literal: string, quote: string): boolean {
  if (literal.length < 2 || !literal.endsWith(quote)) return false
  const backslashes = /\\*$/.exec(literal.slice(-LONGEST_RUN, -1))?.[0].length ?? 0
  return backslashes % 2 === 0
}

function confusable(offset: number, character: string, meant: string, span = { start: offset, end: offset + character.length }): Occurrence {
  const [en, zh] = NAMES[character.charAt(0)] ?? (character.length > 1 ? ['row of full-width characters', '全角字符'] : ['full-width character', '全角字符'])
  const codePoint = character.length > 1 ? { en: '', zh: '' } : { en: ` (${codePointName(character)})`, zh: `（${codePointName(character)}）` }
  const areQuotes = character.length > 1 && meant.length === 1
  return {
    finding: {
      code: 'full-width-character', severity: 'error', span,
      message: areQuotes
        ? say(`The string is in curly quotes ${character}; write ${meant} instead.`, `字符串用了弯引号 ${character}，应写成 ${meant}。`)
        : say(`"${character}" is a ${en}${codePoint.en}; write ${meant} instead.`, `“${character}”是${zh}${codePoint.zh}，应写成 ${meant}。`),
    },
    title: [`Replace ${character} with ${meant}`, `将 ${character} 替换为 ${meant}`], edits: [{ offset, length: character.length, text: meant }], isPunctuation: true,
  }
}

function foreignText(tree: PbtxtTree, start: number, end: number): Occurrence {
  const words = tree.text.slice(start, end)
  return {
    finding: {
      code: 'non-ascii-text', severity: 'error', span: { start, end },
      message: say(`"${words}" can stand only in a string or behind #.`, `“${words}”只能写在字符串中或 # 之后。`),
    },
    title: ['Remove it', '删除'], edits: [{ offset: start, length: end - start, text: '' }], isPunctuation: false,
  }
}

/** `// ...` up to its line's end, or `/* ... *\/`. */
function commentAt(tree: PbtxtTree, token: PbtxtToken, lastClosing: number): { readonly end: number; readonly occurrence: Occurrence } | null {
  if (token.kind !== 'symbol' || token.text !== '/') return null
  const { text } = tree
  const second = text.charAt(token.offset + 1)
  if (second !== '/' && second !== '*') return null
  const lineEnd = lineEndAt(text, token.offset)
  const closing = second === '*' && lastClosing > token.offset + 1 ? text.indexOf('*/', token.offset + 2) : -1
  const end = closing < 0 ? lineEnd : closing + 2
  const edits: TextEdit[] = [{ offset: token.offset, length: 2, text: '#' }]
  if (closing >= 0) {
    for (let newline = text.indexOf('\n', token.offset); newline >= 0 && newline < closing; newline = text.indexOf('\n', newline + 1)) {
      edits.push({ offset: newline + 1, length: 0, text: '# ' })
    }
    const isLastOnLine = restOfLine(text, end)?.hasComment === false
    edits.push({ offset: closing, length: 2, text: isLastOnLine ? '' : `\n${indentAt(text, token.offset)}` })
  }
  return {
    end,
    occurrence: {
      finding: {
        code: 'slash-comment', severity: 'error', span: { start: token.offset, end },
        message: say(`Comments begin with #; ${second === '/' ? '//' : '/* */'} is no comment here.`, `注释以 # 开头；此处 ${second === '/' ? '//' : '/* */'} 不是注释。`),
      },
      title: ['Make it a # comment', '改为 # 注释'], edits, isPunctuation: false,
    },
  }
}

function lineEndAt(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset)
  if (newline < 0) return text.length
  return text.charAt(newline - 1) === '\r' ? newline - 1 : newline
}
