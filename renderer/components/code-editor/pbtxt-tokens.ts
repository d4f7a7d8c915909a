/** Colours of protobuf text format: keys, strings, numbers, enum values, comments. */
import type * as monaco from 'monaco-editor/editor/editor.api'

export const PBTXT_LANGUAGE = 'pbtxt'

export const pbtxtTokens: monaco.languages.IMonarchLanguage = {
  tokenizer: {
    root: [
      [/#.*$/, 'comment'],
      [/[A-Za-z_][\w]*(?=\s*[:{<[])/, 'key'],
      [/"/, 'string', '@double'],
      [/'/, 'string', '@single'],
      [/-?(?:0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fF]?)/, 'number'],
      [/[A-Za-z_]\w*/, 'constant'],
      [/[{}[\]<>:,;]/, 'delimiter'],
    ],
    double: [[/[^\\"]+/, 'string'], [/\\./, 'string.escape'], [/"/, 'string', '@pop']],
    single: [[/[^\\']+/, 'string'], [/\\./, 'string.escape'], [/'/, 'string', '@pop']],
  },
}
