import type {
  Answer,
  AnswerInputs,
  Document,
  Input,
  NoAnswer,
  NumberedViews,
  Part,
  Slot,
  View,
} from './document.ts'

/** All members of a document except its identity and its bytes. */
export type Facts = Pick<Document, 'nextUpdateMs' | 'parts' | 'views' | 'numbered'>

type Numbers = readonly number[]

/**
 * Packed facts are two lines of JSON in UTF-8. The first lists the keys of the views that have an answer, numbered ones
 * left out. This is the second; absent members are null.
 */
type FactsLine = readonly [
  /** Each distinct one. Elsewhere they are indices, because most views have the same. */
  inputs: readonly Input[],
  parts: readonly PackedPart[],
  /** In the order of the document. The keys of the answers are the first line. */
  views: readonly (PackedAnswer | { readonly key: string; readonly reason: NoAnswer })[],
  numbered: PackedNumbered | null | undefined,
  nextUpdateMs: number | null | undefined,
]

/**
 * A text is its end if it begins at the end of the text before it, and a slot without other members is its kind. Each
 * offset of a choice is the difference from the one before it: differences are short and repeat.
 */
type PackedPart = number | Slot['kind'] | PackedChoice | Exclude<Part, { kind: 'choice' }>
type PackedChoice = { readonly kind: 'choice'; readonly starts: Numbers; readonly ends: Numbers }

type PackedInputs = readonly [Numbers, coveragePct: number, warnings: AnswerInputs['warnings']]
type PackedAnswer = readonly [Numbers, PackedInputs, components: readonly PackedInputs[] | null]
type PackedNumbered = Omit<NumberedViews, 'inputs' | 'outcomeOf'> &
  Readonly<Record<'inputs' | 'outcomeOf', Numbers>>

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const LINE_END = 0x0a

export function packFacts({ parts, views, numbered, nextUpdateMs }: Facts): Uint8Array {
  const answered: string[] = []
  const inputs: Input[] = []
  const indicesOf = (listed: readonly Input[]) => listed.map((input) => indexIn(inputs, input))
  const packed = (of: AnswerInputs) => [indicesOf(of.inputs), of.coveragePct, of.warnings] as const
  const line: FactsLine = [
    inputs,
    packParts(parts),
    Object.entries(views).map(([key, view]) => {
      if (view.kind !== 'answer') return { key, reason: view }
      answered.push(key)
      return [view.parts, packed(view), view.components?.map(packed) ?? null]
    }),
    numbered && {
      ...numbered,
      inputs: indicesOf(numbered.inputs),
      outcomeOf: Array.from(numbered.outcomeOf),
    },
    nextUpdateMs,
  ]
  return encoder.encode(`${JSON.stringify(answered)}\n${JSON.stringify(line)}`)
}

/**
 * Parts and views have the order of members that the builder gives them, which the checksums of recordings cover.
 * @throws SyntaxError, and TypeError for other JSON than {@link packFacts} writes
 */
export function factsFrom(bytes: Uint8Array): Facts {
  const [first, second] = linesOf(bytes)
  const keys = answeredOf(first).values()
  const line: FactsLine = JSON.parse(decoder.decode(second))
  const [inputs, parts, views, numbered, nextUpdateMs] = line
  const listed = (indices: Numbers) => indices.map((index) => inputs[index] as Input)
  const read = ([indices, coveragePct, warnings]: PackedInputs): AnswerInputs => {
    return { inputs: listed(indices), coveragePct, warnings }
  }
  const answerFrom = ([ownParts, own, components]: PackedAnswer): Answer => ({
    ...{ kind: 'answer', parts: ownParts, ...read(own) },
    ...(components && { components: components.map(read) }),
  })
  const entries = views.map((view): [string, View] =>
    'key' in view ? [view.key, view.reason] : [keys.next().value as string, answerFrom(view)],
  )
  return {
    nextUpdateMs: nextUpdateMs ?? undefined,
    parts: partsFrom(parts),
    views: Object.fromEntries(entries),
    ...(numbered && {
      numbered: {
        ...numbered,
        inputs: listed(numbered.inputs),
        outcomeOf: Uint8Array.from(numbered.outcomeOf),
      },
    }),
  }
}

/** The line of facts that lists the views with an answer. */
export function answeredLineOf(facts: Uint8Array): Uint8Array {
  return linesOf(facts)[0]
}

/** @throws SyntaxError, and TypeError for other JSON */
export function answeredOf(line: Uint8Array): readonly string[] {
  const answered: unknown = JSON.parse(decoder.decode(line))
  if (!Array.isArray(answered)) throw new TypeError('the first line of facts lists views')
  return answered
}

/** JSON has no line end of its own. */
function linesOf(facts: Uint8Array): readonly [Uint8Array, Uint8Array] {
  const end = facts.indexOf(LINE_END)
  return [facts.subarray(0, end), facts.subarray(end + 1)]
}

function packParts(parts: readonly Part[]): readonly PackedPart[] {
  let end = 0
  return parts.map((part) => {
    if (part.kind === 'choice')
      return { ...part, starts: differences(part.starts), ends: differences(part.ends) }
    if (part.kind === 'run') return part
    if (part.kind !== 'text') return Object.keys(part).length === 1 ? part.kind : part
    const isNext = part.start === end
    end = part.end
    return isNext ? end : part
  })
}

function partsFrom(packed: readonly PackedPart[]): readonly Part[] {
  let end = 0
  return packed.map((part): Part => {
    if (typeof part === 'string') return { kind: part } as Slot
    if (typeof part === 'number') {
      const start = end
      end = part
      return { kind: 'text', start, end }
    }
    if (part.kind === 'text') end = part.end
    if (part.kind !== 'choice') return part
    return { ...part, starts: sums(part.starts), ends: sums(part.ends) }
  })
}

function differences(offsets: Uint32Array): Numbers {
  let before = 0
  const all: number[] = []
  // Four times as fast as `Array.from` or a spread.
  for (const offset of offsets) {
    all.push(offset - before)
    before = offset
  }
  return all
}

/** Modulo 2^32, as differences below zero are. */
function sums(differences: Numbers): Uint32Array {
  const offsets = Uint32Array.from(differences)
  for (let at = 1; at < offsets.length; at += 1)
    offsets[at] = (offsets[at] ?? 0) + (offsets[at - 1] ?? 0)
  return offsets
}

/** Compared with each: there are few, and a key of each input takes longer. */
function indexIn(inputs: Input[], input: Input): number {
  const index = inputs.findIndex(
    (other) =>
      other.confirmedAtMs === input.confirmedAtMs &&
      other.name === input.name &&
      other.cadenceMs === input.cadenceMs &&
      other.isLoadBearing === input.isLoadBearing &&
      other.ageMsMax === input.ageMsMax,
  )
  return index === -1 ? inputs.push(input) - 1 : index
}
