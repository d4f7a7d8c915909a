/** What a text of the server says about a card: which fault, by CANN's code in it, and on which card. Codes and names: AscendCL's public error table. */

export type NpuFault =
  | 'cardLost' | 'cardHung' | 'cardSilent' | 'cardEcc' | 'cardMemory' | 'cardMissing' | 'cardPermission' | 'cardStart' | 'cardDriver'
  | 'operatorTimeout' | 'operatorFailed' | 'streamsUsedUp' | 'cannEnvironment' | 'omUnusable' | 'gearMissing'

export interface NpuFaultExplanation {
  readonly fault: NpuFault
  /** As CANN numbers it; '' : CANN said nothing, for the call never came back. */
  readonly code: string
  /** Logical or visible id, as the text has it; null: it names none. */
  readonly card: number | null
}

const CODES: Readonly<Record<NpuFault, readonly number[]>> = {
  cardLost: [507901, 107002],
  cardHung: [507010, 507046, 507001, 207020, 107019],
  cardSilent: [],
  cardEcc: [507053, 507054],
  cardMemory: [207001, 207018, 207005, 245000],
  cardMissing: [107001, 207004],
  cardPermission: [207006],
  cardStart: [507033, 507008],
  cardDriver: [507899, 500004, 507013],
  operatorTimeout: [507014, 507017, 507034, 545601, 107020],
  operatorFailed: [507011, 507015, 507018, 507035, 507900],
  streamsUsedUp: [207008],
  cannEnvironment: [500000, 100001, 100039, 148049],
  omUnusable: [100003, 100012, 100013, 100014, 100015, 545001, 145002],
  gearMissing: [145013, 145021, 145012, 100017, 100019],
}

/** Those of the card, its driver or its memory: they pass, and then the model runs as it is. The others need something done to the model or to CANN. */
const OF_THE_CARD: ReadonlySet<NpuFault> = new Set(['cardLost', 'cardHung', 'cardSilent', 'cardEcc', 'cardMemory', 'cardMissing', 'cardPermission', 'cardStart', 'cardDriver', 'operatorTimeout', 'streamsUsedUp'])

const FAULT_OF = new Map(Object.entries(CODES).flatMap(([fault, codes]) => codes.map((code) => [String(code), fault as NpuFault] as const)))

/** The backends write a code before or behind its name: `failed with 507901 SOCKET_CLOSE: ...`, `ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (507046)`. */
const CODE = /\b(?<before>\d{6})\b(?= \(?[A-Z][A-Z0-9_]{3,})|\b[A-Z][A-Z0-9_]{3,} \(?(?<behind>\d{6})\b/g
const CARD = /\b(?:[Dd]evice|card|NPU) (?<card>\d+)\b/
/** The backends' own words for a call that was left behind. */
const SILENT = /\b[Dd]evice \d+ does not answer\b|did not come to an end within \d+ ms: the card or its driver hangs/

/** @returns null where the text is not about a card */
export function explainNpuFault(text: string): NpuFaultExplanation | null {
  for (const { groups } of text.matchAll(CODE)) {
    const code = groups?.['before'] ?? groups?.['behind'] ?? ''
    const fault = FAULT_OF.get(code)
    if (fault === undefined) continue
    return { fault, code, card: cardIn(text) }
  }
  return SILENT.test(text) ? { fault: 'cardSilent', code: '', card: cardIn(text) } : null
}

function cardIn(text: string): number | null {
  const card = CARD.exec(text)?.groups?.['card']
  return card === undefined ? null : Number(card)
}

/** Whether what kept an instance on a card from running may pass by itself. A text without a code of CANN is believed where it says UNAVAILABLE: a card that hangs has none. */
export function isFaultOfCard(text: string, isUnavailable: boolean): boolean {
  const explanation = explainNpuFault(text)
  return explanation === null ? isUnavailable : OF_THE_CARD.has(explanation.fault)
}
