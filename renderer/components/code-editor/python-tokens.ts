/** Colours of Python: keywords, strings in all their quotes, numbers, decorators, names of constants, comments. */
import type * as monaco from 'monaco-editor/editor/editor.api'

export const PYTHON_LANGUAGE = 'python'

const KEYWORDS = ['and', 'as', 'assert', 'async', 'await', 'break', 'class', 'continue', 'def', 'del', 'elif', 'else', 'except', 'finally', 'for', 'from', 'global', 'if', 'import', 'in', 'is', 'lambda', 'nonlocal', 'not', 'or', 'pass', 'raise', 'return', 'try', 'while', 'with', 'yield']

export const pythonTokens: monaco.languages.IMonarchLanguage = {
  keywords: KEYWORDS,
  constants: ['True', 'False', 'None', 'self', 'cls'],
  tokenizer: {
    root: [
      [/#.*$/, 'comment'],
      [/@[A-Za-z_][\w.]*/, 'constant'],
      [/(?:[rRbBuUfF]{1,2})?"""/, 'string', '@longDouble'],
      [/(?:[rRbBuUfF]{1,2})?'''/, 'string', '@longSingle'],
      [/(?:[rRbBuUfF]{1,2})?"/, 'string', '@double'],
      [/(?:[rRbBuUfF]{1,2})?'/, 'string', '@single'],
      [/0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?/, 'number'],
      [/[A-Za-z_]\w*/, { cases: { '@keywords': 'key', '@constants': 'constant', '@default': 'identifier' } }],
      [/[{}[\]():,;.=+\-*/%<>!&|^~@]/, 'delimiter'],
    ],
    longDouble: [[/[^\\"]+/, 'string'], [/\\./, 'string.escape'], [/"""/, 'string', '@pop'], [/["\\]/, 'string']],
    longSingle: [[/[^\\']+/, 'string'], [/\\./, 'string.escape'], [/'''/, 'string', '@pop'], [/['\\]/, 'string']],
    // A string of one line ends with it, closed or not; a backslash at its end carries it on.
    double: [[/[^\\"]+$/, 'string', '@pop'], [/[^\\"]+/, 'string'], [/\\$/, 'string'], [/\\./, 'string.escape'], [/"/, 'string', '@pop']],
    single: [[/[^\\']+$/, 'string', '@pop'], [/[^\\']+/, 'string'], [/\\$/, 'string'], [/\\./, 'string.escape'], [/'/, 'string', '@pop']],
  },
}
