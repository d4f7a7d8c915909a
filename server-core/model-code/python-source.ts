/**
 * The text of a model.py as a tree: imports, the model's class and its methods, calls with their arguments. Pure. The grammar recovers from what it
 * does not know, and it does not know all of Python (`1.`, a bare `yield`): so nothing here says that a text is wrong Python, only what is there.
 */
import type { SyntaxNode, Tree } from '@lezer/common'
import { parser } from '@lezer/python'

export type PythonNode = SyntaxNode

export interface PythonArgument {
  /** null: by position. `*` and `**`: a spread. */
  readonly name: string | null
  readonly value: PythonNode
}

export interface PythonCall {
  readonly node: PythonNode
  /** What is called, with imported names as what they were imported from: `torch.npu.set_device`; '' where it is no name. */
  readonly callee: string
  readonly arguments: readonly PythonArgument[]
}

export interface PythonFunction {
  readonly name: string
  readonly nameNode: PythonNode
  readonly node: PythonNode
  readonly parameters: PythonParameters
  readonly body: PythonNode
  readonly decorators: readonly string[]
}

export interface PythonParameters {
  readonly node: PythonNode
  /** In order, without `*args`, `**kwargs` and those that follow a star. */
  readonly positional: readonly { readonly name: string; readonly hasDefault: boolean }[]
  readonly hasRest: boolean
}

export interface PythonClass {
  readonly name: string
  readonly nameNode: PythonNode
  readonly node: PythonNode
  readonly body: PythonNode
  readonly hasBases: boolean
  readonly methods: readonly PythonFunction[]
}

const SCOPES = new Set(['FunctionDefinition', 'ClassDefinition', 'LambdaExpression'])

export class PythonSource {
  readonly text: string
  readonly root: PythonNode
  /** Local name to what it is: `np` to `numpy`, `InferSession` to `ais_bench.infer.interface.InferSession`. */
  readonly imports: ReadonlyMap<string, string>
  /** `from x import *` somewhere: any name may come from there. */
  readonly hasStarImport: boolean
  /** Classes of the top level. */
  readonly classes: readonly PythonClass[]
  readonly lineEnd: '\n' | '\r\n'
  /** Every node by its name, in the order of the text. */
  readonly #nodes = new Map<string, PythonNode[]>()

  constructor(text: string) {
    this.text = text
    const tree: Tree = parser.parse(text)
    this.root = tree.topNode
    visit(this.root, (node) => {
      const same = this.#nodes.get(node.name)
      if (same === undefined) this.#nodes.set(node.name, [node])
      else same.push(node)
    })
    const imports = new Map<string, string>()
    let hasStar = false
    for (const node of this.all('ImportStatement')) hasStar = readImport(tokensOf(node, text), imports) || hasStar
    this.imports = imports
    this.hasStarImport = hasStar
    this.classes = childrenOf(this.root).flatMap((node) => this.#classOf(undecorated(node)))
    this.lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
  }

  textOf(node: PythonNode): string {
    return this.text.slice(node.from, node.to)
  }

  /** Every node of a name below a node, in the order of the text. */
  all(name: string, below: PythonNode = this.root): PythonNode[] {
    return (this.#nodes.get(name) ?? []).filter((node) => node.from >= below.from && node.to <= below.to)
  }

  /** As `all`, without what lies in functions and classes inside. */
  inScope(name: string, below: PythonNode): PythonNode[] {
    const found: PythonNode[] = []
    visit(below, (node) => {
      if (node.name === name) found.push(node)
      return !(SCOPES.has(node.name) && node.from !== below.from)
    })
    return found
  }

  calls(below: PythonNode = this.root): PythonCall[] {
    return this.all('CallExpression', below).flatMap((node) => this.callOf(node) ?? [])
  }

  /** null: the node is no call. */
  callOf(node: PythonNode | null): PythonCall | null {
    const [callee, list] = node?.name === 'CallExpression' ? childrenOf(node) : []
    return node === null || callee === undefined || list?.name !== 'ArgList' ? null : { node, callee: this.resolvedName(callee), arguments: this.#arguments(list) }
  }

  /** A dotted name with its first part resolved by the imports; '' for any other expression. */
  resolvedName(node: PythonNode): string {
    const name = this.dottedName(node)
    const [first = '', ...rest] = name.split('.')
    return [this.imports.get(first) ?? first, ...rest].join('.')
  }

  /** A dotted name as written; '' for any other expression, subscripts included. */
  dottedName(node: PythonNode): string {
    if (node.name === 'VariableName') return this.textOf(node)
    const [object, dot, property] = node.name === 'MemberExpression' ? childrenOf(node) : []
    if (object === undefined || dot?.name !== '.' || property === undefined) return ''
    const name = this.dottedName(object)
    return name === '' ? '' : `${name}.${this.textOf(property)}`
  }

  /** Of a plain literal: no f-string, no bytes, no joined ones; null for all else. Escapes are left as they are written. */
  stringValue(node: PythonNode): string | null {
    if (node.name !== 'String') return null
    const match = /^[rRuU]?('''|"""|'|")([^]*)\1$/.exec(this.textOf(node))
    return match === null ? null : match[2] ?? ''
  }

  /** The function around a node; null at the top level and in a class body. */
  functionAround(node: PythonNode): PythonFunction | null {
    for (let at = node.parent; at !== null; at = at.parent) {
      if (at.name === 'FunctionDefinition' && node.from >= (at.getChild('Body')?.from ?? at.to)) return this.#functionOf(at, [])[0] ?? null
    }
    return null
  }

  /** The class named so at the top level; null: none. */
  classNamed(name: string): PythonClass | null {
    return this.classes.find((candidate) => candidate.name === name) ?? null
  }

  /** Statements of a body, comments left out. */
  statementsOf(body: PythonNode): PythonNode[] {
    return childrenOf(body).filter((node) => node.name !== ':' && node.name !== 'Comment')
  }

  lineStart(offset: number): number {
    return this.text.lastIndexOf('\n', offset - 1) + 1
  }

  /** Before the line's end, whichever that is. */
  lineEndAt(offset: number): number {
    const at = this.text.indexOf('\n', offset)
    if (at === -1) return this.text.length
    return this.text[at - 1] === '\r' ? at - 1 : at
  }

  /** White space before the first word of the line that the offset lies in. */
  indentAt(offset: number): string {
    return /^[ \t]*/.exec(this.text.slice(this.lineStart(offset)))?.[0] ?? ''
  }

  #classOf({ node }: Decorated): PythonClass[] {
    const nameNode = node.name === 'ClassDefinition' ? node.getChild('VariableName') : null
    const body = node.getChild('Body')
    if (nameNode === null || body === null) return []
    const methods = childrenOf(body).flatMap((child) => {
      const { node: inner, decorators } = undecorated(child)
      return this.#functionOf(inner, decorators.map((decorator) => this.textOf(decorator).replace(/^@\s*/, '').replace(/\([^]*$/, '').trim()))
    })
    const bases = node.getChild('ArgList')
    return [{ name: this.textOf(nameNode), nameNode, node, body, hasBases: bases !== null && this.#arguments(bases).some(({ value }) => this.textOf(value) !== 'object'), methods }]
  }

  #functionOf(node: PythonNode, decorators: readonly string[]): PythonFunction[] {
    const nameNode = node.name === 'FunctionDefinition' ? node.getChild('VariableName') : null
    const list = node.getChild('ParamList')
    const body = node.getChild('Body')
    if (nameNode === null || list === null || body === null) return []
    return [{ name: this.textOf(nameNode), nameNode, node, body, decorators, parameters: this.#parameters(list) }]
  }

  #parameters(list: PythonNode): PythonParameters {
    const positional: { name: string; hasDefault: boolean }[] = []
    let hasRest = false
    for (const part of splitAtCommas(childrenOf(list).slice(1, -1))) {
      const [first, second] = part
      if (first === undefined || first.name === '/') continue
      if (first.name === '*' || first.name === '**') {
        hasRest ||= second !== undefined
        break
      }
      if (first.name === 'VariableName') positional.push({ name: this.textOf(first), hasDefault: part.some(({ name }) => name === 'AssignOp') })
    }
    return { node: list, positional, hasRest }
  }

  #arguments(list: PythonNode): PythonArgument[] {
    return splitAtCommas(childrenOf(list).slice(1, -1)).flatMap((part): PythonArgument[] => {
      const [first, second, third] = part
      if (first === undefined) return []
      if (first.name === '*' || first.name === '**') return second === undefined ? [] : [{ name: first.name, value: second }]
      if (second?.name === 'AssignOp') return third === undefined ? [] : [{ name: this.textOf(first), value: third }]
      return [{ name: null, value: first }]
    })
  }
}

interface Decorated {
  readonly node: PythonNode
  readonly decorators: readonly PythonNode[]
}

function undecorated(node: PythonNode): Decorated {
  if (node.name !== 'DecoratedStatement') return { node, decorators: [] }
  return { node: node.lastChild ?? node, decorators: node.getChildren('Decorator') }
}

/** Of the node itself, comments left out. */
export function childrenOf(node: PythonNode): PythonNode[] {
  const children: PythonNode[] = []
  for (let child = node.firstChild; child !== null; child = child.nextSibling) if (child.name !== 'Comment') children.push(child)
  return children
}

/** Depth first; a node whose visit answers false is not entered. */
function visit(node: PythonNode, enter: (node: PythonNode) => boolean | void): void {
  if (enter(node) === false) return
  for (let child = node.firstChild; child !== null; child = child.nextSibling) visit(child, enter)
}

function splitAtCommas(nodes: readonly PythonNode[]): PythonNode[][] {
  const parts: PythonNode[][] = [[]]
  for (const node of nodes) {
    if (node.name === ',') parts.push([])
    else parts.at(-1)?.push(node)
  }
  return parts.filter((part) => part.length > 0)
}

function tokensOf(node: PythonNode, text: string): string[] {
  return childrenOf(node).map((child) => text.slice(child.from, child.to)).filter((token) => token !== '(' && token !== ')')
}

/** @returns whether it is `from x import *` */
function readImport(tokens: readonly string[], into: Map<string, string>): boolean {
  const isFrom = tokens[0] === 'from'
  const at = tokens.indexOf('import')
  const prefix = isFrom ? `${tokens.slice(1, at).join('')}.` : ''
  const entries: string[][] = [[]]
  for (const token of tokens.slice(at + 1)) {
    if (token === ',') entries.push([])
    else entries.at(-1)?.push(token)
  }
  for (const entry of entries) {
    const as = entry.indexOf('as')
    const name = (as === -1 ? entry : entry.slice(0, as)).join('')
    if (name === '*') return true
    if (name === '') continue
    const first = name.split('.')[0] ?? name
    if (as !== -1) into.set(entry[as + 1] ?? '', prefix + name)
    else into.set(isFrom ? name : first, isFrom ? prefix + name : first)
  }
  return false
}
