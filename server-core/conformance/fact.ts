/** One statement of Triton's protocol that the conformance suite has to prove. Ids begin with the number of the section it stands in. */

export interface Fact {
  /** An error text as it is on the wire with `<placeholders>`, or a rule in a few words. */
  readonly statement: string
  /** True: `statement` is a text, and a case that names the fact must have seen an answer with it. */
  readonly isText: boolean
  /** Why it cannot be shown here. Absent: a case must prove it. */
  readonly unproven?: string
}

export function text(statement: string): Fact {
  return { statement, isText: true }
}

export function rule(statement: string): Fact {
  return { statement, isText: false }
}

/** Cannot be shown by a test on a machine of any kind; `reason` says why. */
export function cannotShow(fact: Fact, reason: string): Fact {
  return { ...fact, unproven: reason }
}

/** Placeholders that stand in the texts themselves. */
const LITERAL = '<id_unknown>'

/** Matches answers that contain the text, whatever stands for its placeholders. */
export function textPattern(statement: string): RegExp {
  const parts = statement.split(LITERAL).map((part) => part.split(/<[^<>]+>/).map((literal) => escaped(literal)).join('[^]*?'))
  return new RegExp(parts.join(escaped(LITERAL)))
}

function escaped(literal: string): string {
  return literal.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
