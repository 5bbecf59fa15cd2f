import type {
  AnswerInputs,
  Document,
  DocumentKey,
  Input,
  NoAnswer,
  NumberedOutcome,
  NumberedViews,
  Part,
  View,
  Warning,
} from '../../domain/document.ts'
import { bytesOf, warnings } from '../../domain/document.ts'
import { timeframes } from '../../domain/timeframe.ts'
import type { ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

/** The held document of a key and version, which is then not read again. */
export type FindHeld = (key: DocumentKey, version: number) => Document | undefined

/** Every change here, or of `Document`, needs a new `LINK_FORMAT`. */
const partKinds = [
  'text',
  'run',
  'choice',
  'input-age',
  'age',
  'freshness',
  'execution-ms',
  'coins-available',
  'requested-coin',
] as const

const outcomeKinds = [
  'answer',
  'insufficient-candles',
  'missing-input',
  'not-covered',
  'low-coverage',
] as const

export function writeDocument(to: ByteWriter, document: Document): void {
  const { key, version, renderedAtMs, nextUpdateMs, parts, views, numbered } = document
  to.text(key)
  to.f64(version)
  to.f64(renderedAtMs)
  writeOptional(to, nextUpdateMs, (value) => to.f64(value))
  to.bytes(bytesOf(document))
  writeList(to, parts, (part) => writePart(to, part))
  writeList(to, Object.entries(views), ([viewKey, view]) => {
    to.text(viewKey)
    writeView(to, view)
  })
  writeOptional(to, numbered, (value) => writeNumbered(to, value))
}

/** @throws RangeError for bytes that are not a document */
export function readDocument(from: ByteReader, findHeld: FindHeld): Document {
  const key = from.text()
  if (!isDocumentKey(key)) throw new RangeError(`"${key}" is not the key of a document`)
  const version = from.f64()
  const held = findHeld(key, version)
  if (held !== undefined) return held
  const renderedAtMs = from.f64()
  const nextUpdateMs = readOptional(from, () => from.f64())
  const bytes = from.bytes()
  const parts = readList(from, 1, () => readPart(from, bytes.length))
  checkRuns(parts)
  const views = Object.fromEntries(
    readList(from, 2, () => [from.text(), readView(from, parts.length)] as const),
  )
  const numbered = readOptional(from, () => readNumbered(from, parts, bytes.length))
  if (from.left > 0) throw new RangeError(`${key} has another length than stated`)
  return {
    ...{ key, version, renderedAtMs, bytes, parts, views },
    ...(nextUpdateMs !== undefined && { nextUpdateMs }),
    ...(numbered !== undefined && { numbered }),
  }
}

function isDocumentKey(text: string): text is DocumentKey {
  return text.includes('/')
}

function writePart(to: ByteWriter, part: Part): void {
  to.u8(partKinds.indexOf(part.kind))
  switch (part.kind) {
    case 'text':
      to.u32(part.start)
      to.u32(part.end)
      break
    case 'run':
      to.u32(part.from)
      to.u32(part.to)
      break
    case 'choice':
      to.u32s(part.starts)
      to.u32s(part.ends)
      break
    case 'input-age':
      to.text(part.input)
      writeOptional(to, part.of, (of) => to.u32(of))
      break
    case 'age':
      to.f64(part.confirmedAtMs)
      break
    case 'freshness':
      writeOptional(to, part.of, (of) => to.u32(of))
      break
    case 'requested-coin':
      to.u8(part.member === undefined ? 0 : 1)
      break
    case 'execution-ms':
    case 'coins-available':
      break
    default:
      part satisfies never
  }
}

/** @param size length of the document's bytes */
function readPart(from: ByteReader, size: number): Part {
  const kind = oneOf(partKinds, from.u8())
  switch (kind) {
    case 'text': {
      const [start, end] = [from.u32(), from.u32()]
      checkRange(start, end, size)
      return { kind, start, end }
    }
    case 'run':
      return { kind, from: from.u32(), to: from.u32() }
    case 'choice': {
      const [starts, ends] = [from.u32s(), from.u32s()]
      if (starts.length !== ends.length) throw new RangeError('a choice lacks an end')
      return { kind, starts, ends }
    }
    case 'input-age': {
      const input = from.text()
      return { kind, input, ...componentOf(from) }
    }
    case 'age':
      return { kind, confirmedAtMs: from.f64() }
    case 'freshness':
      return { kind, ...componentOf(from) }
    case 'requested-coin':
      return from.u8() === 0 ? { kind } : { kind, member: 'requested_token' }
    case 'execution-ms':
    case 'coins-available':
      return { kind }
  }
}

function componentOf(from: ByteReader): { readonly of?: number } {
  const of = readOptional(from, () => from.u32())
  return of === undefined ? {} : { of }
}

/** A run that contains a run could contain itself. */
function checkRuns(parts: readonly Part[]): void {
  for (const part of parts) {
    if (part.kind !== 'run') continue
    checkRange(part.from, part.to, parts.length)
    if (parts.slice(part.from, part.to).some(({ kind }) => kind === 'run'))
      throw new RangeError('a run contains a run')
  }
}

function writeView(to: ByteWriter, view: View): void {
  if (view.kind !== 'answer') {
    writeNoAnswer(to, view)
    return
  }
  to.u8(outcomeKinds.indexOf('answer'))
  writeInputs(to, view.inputs)
  writeCoverage(to, view)
  writeList(to, view.parts, (part) => to.u32(part))
  writeOptional(to, view.components, (components) =>
    writeList(to, components, (component) => {
      writeInputs(to, component.inputs)
      writeCoverage(to, component)
    }),
  )
}

function readView(from: ByteReader, partCount: number): View {
  const kind = oneOf(outcomeKinds, from.u8())
  if (kind !== 'answer') return readNoAnswer(from, kind)
  const inputs = readInputs(from)
  const coverage = readCoverage(from)
  const parts = readList(from, 4, () => from.index(partCount))
  const components = readOptional(from, () =>
    readList(from, 1, () => ({ inputs: readInputs(from), ...readCoverage(from) })),
  )
  return {
    ...{ kind, inputs, parts },
    ...coverage,
    ...(components !== undefined && { components }),
  }
}

function writeNumbered(
  to: ByteWriter,
  { parts, inputs, outcomes, outcomeOf }: NumberedViews,
): void {
  writeList(to, parts, (part) => to.u32(part))
  writeInputs(to, inputs)
  writeList(to, outcomes, (outcome) => {
    if ('kind' in outcome) {
      writeNoAnswer(to, outcome)
      return
    }
    to.u8(outcomeKinds.indexOf('answer'))
    writeCoverage(to, outcome)
  })
  to.bytes(outcomeOf)
}

function readNumbered(
  from: ByteReader,
  documentParts: readonly Part[],
  size: number,
): NumberedViews {
  const parts = readList(from, 4, () => from.index(documentParts.length))
  const inputs = readInputs(from)
  const outcomes = readList(from, 1, (): NumberedOutcome => {
    const kind = oneOf(outcomeKinds, from.u8())
    return kind === 'answer' ? readCoverage(from) : readNoAnswer(from, kind)
  })
  const outcomeOf = from.bytes()
  for (const [view, index] of outcomeOf.entries()) {
    const outcome = outcomes[index]
    if (outcome === undefined) throw new RangeError(`view ${view} has no outcome`)
    // A view without an answer has no range.
    if (!('kind' in outcome)) checkChoices(documentParts, view, size)
  }
  return { parts, inputs, outcomes, outcomeOf }
}

function checkChoices(parts: readonly Part[], view: number, size: number): void {
  for (const part of parts)
    if (part.kind === 'choice')
      checkRange(part.starts[view] ?? Number.NaN, part.ends[view] ?? Number.NaN, size)
}

function writeNoAnswer(to: ByteWriter, none: NoAnswer): void {
  to.u8(outcomeKinds.indexOf(none.kind))
  switch (none.kind) {
    case 'insufficient-candles':
      to.u8(timeframes.indexOf(none.timeframe))
      to.f64(none.have)
      to.f64(none.need)
      break
    case 'missing-input':
      to.text(none.input)
      writeOptional(to, none.detail, (detail) => to.text(detail))
      break
    case 'not-covered':
      writeList(to, none.coins, (coin) => to.text(coin))
      break
    case 'low-coverage':
      to.text(none.missing)
      to.f64(none.have)
      to.f64(none.need)
      writeOptional(to, none.readyAtMs, (readyAtMs) => to.f64(readyAtMs))
      writeOptional(to, none.detail, (detail) => to.text(detail))
      break
    default:
      none satisfies never
  }
}

function readNoAnswer(from: ByteReader, kind: NoAnswer['kind']): NoAnswer {
  switch (kind) {
    case 'insufficient-candles': {
      const timeframe = oneOf(timeframes, from.u8())
      return { kind, timeframe, have: from.f64(), need: from.f64() }
    }
    case 'missing-input': {
      const input = from.text()
      const detail = readOptional(from, () => from.text())
      return { kind, input, ...(detail !== undefined && { detail }) }
    }
    case 'not-covered':
      return { kind, coins: readList(from, 4, () => from.text()) }
    case 'low-coverage': {
      const [missing, have, need] = [from.text(), from.f64(), from.f64()]
      const readyAtMs = readOptional(from, () => from.f64())
      const detail = readOptional(from, () => from.text())
      return {
        ...{ kind, missing, have, need },
        ...(readyAtMs !== undefined && { readyAtMs }),
        ...(detail !== undefined && { detail }),
      }
    }
  }
}

function writeInputs(to: ByteWriter, inputs: readonly Input[]): void {
  writeList(to, inputs, ({ name, confirmedAtMs, cadenceMs, isLoadBearing, ageMsMax }) => {
    to.text(name)
    to.f64(confirmedAtMs)
    to.f64(cadenceMs)
    to.u8(isLoadBearing ? 1 : 0)
    writeOptional(to, ageMsMax, (value) => to.f64(value))
  })
}

function readInputs(from: ByteReader): readonly Input[] {
  return readList(from, 22, () => {
    const [name, confirmedAtMs, cadenceMs] = [from.text(), from.f64(), from.f64()]
    const isLoadBearing = from.u8() === 1
    const ageMsMax = readOptional(from, () => from.f64())
    return {
      ...{ name, confirmedAtMs, cadenceMs, isLoadBearing },
      ...(ageMsMax !== undefined && { ageMsMax }),
    }
  })
}

type Coverage = Omit<AnswerInputs, 'inputs'>

function writeCoverage(to: ByteWriter, coverage: Coverage): void {
  to.f64(coverage.coveragePct)
  writeList(to, coverage.warnings, (warning) => to.u8(warnings.indexOf(warning)))
}

function readCoverage(from: ByteReader): Coverage {
  const coveragePct = from.f64()
  return { coveragePct, warnings: readList(from, 1, (): Warning => oneOf(warnings, from.u8())) }
}

function writeList<Item>(
  to: ByteWriter,
  items: readonly Item[],
  write: (item: Item) => void,
): void {
  to.u32(items.length)
  for (const item of items) write(item)
}

function readList<Item>(from: ByteReader, bytesMin: number, read: () => Item): readonly Item[] {
  const items: Item[] = []
  for (let left = from.count(bytesMin); left > 0; left -= 1) items.push(read())
  return items
}

function writeOptional<Value>(
  to: ByteWriter,
  value: Value | undefined,
  write: (value: Value) => void,
): void {
  to.u8(value === undefined ? 0 : 1)
  if (value !== undefined) write(value)
}

function readOptional<Value>(from: ByteReader, read: () => Value): Value | undefined {
  return from.u8() === 0 ? undefined : read()
}

function oneOf<Name>(names: readonly Name[], index: number): Name {
  const name = names[index]
  if (name === undefined) throw new RangeError(`kind ${index} of ${names.length}`)
  return name
}

function checkRange(start: number, end: number, limit: number): void {
  if (!(start <= end && end <= limit)) throw new RangeError(`range ${start} to ${end} of ${limit}`)
}
