import { crc32 } from 'node:zlib'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Document } from '../domain/document.ts'
import { bytesOf } from '../domain/document-bytes.ts'
import type { Batch, MarketEvent } from '../domain/event.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { Arrival } from '../streams/hyperliquid/ingest/arrival.ts'
import type { OnArrival } from '../streams/hyperliquid/ingest/ingest.ts'
import type { RecordedHistory, RecordedMeasure } from './recorded-history.ts'
import {
  recordedHistory,
  recordedMeasure,
  restoredHistory,
  restoredMeasure,
} from './recorded-history.ts'

/**
 * One entry of a recording, in order: the checkpoint with which an engine started, every input, and the instants at
 * which it published. The documents depend on nothing else. A change of these types, or of {@link Arrival}, needs a
 * new version of the format.
 */
export type Recorded = { readonly atMs: number; readonly entry: RecordedEntry }

type RecordedEntry =
  | RecordedStart
  | RecordedArrival
  | RecordedExternal
  /** A call of `Processor.publish`, with the checksum of each document: {@link documentCrc}. */
  | { readonly kind: 'publish'; readonly documents: readonly number[] }
  /** A call of `Processor.gather`. */
  | { readonly kind: 'gather'; readonly analysis: string }
  /** The document of an earlier `gather` was published. */
  | { readonly kind: 'rendered'; readonly analysis: string; readonly document: number }

/** Events of external sources and of the history of measures; `outside` is their name in the file format. */
export type RecordedExternal = {
  readonly kind: 'outside'
  readonly events: readonly (Exclude<MarketEvent, MeasureHistoryEvent> | RecordedMeasure)[]
}

export type RecordedArrival = Exclude<Arrival, { kind: 'remembered' }> | RecordedHistory

/** The start of an engine. Following entries belong to it until the next start. */
export type RecordedStart = {
  readonly kind: 'start'
  /** Version of perpscope, which every document contains. */
  readonly version: string
  readonly sockets: number
  readonly checkpoint: RecordedCheckpoint | null
}

type RecordedCheckpoint = Omit<Checkpoint, 'coins'> & {
  /** Each coin with its numbers as base64 bytes, because JSON.stringify loses NaN and -0. */
  readonly coins: readonly (readonly [string, string])[]
}

/** Receives everything that a recording contains. */
export type Recorder = {
  started(facts: StartFacts, nowMs: number): void
  readonly arrived: OnArrival
  externalReceived(events: Batch, nowMs: number): void
  published(documents: readonly Document[], nowMs: number): void
  gathered(analysis: string, nowMs: number): void
  rendered(analysis: string, document: Document, nowMs: number): void
}

type StartFacts = Pick<RecordedStart, 'version' | 'sockets'> & {
  readonly checkpoint: Checkpoint | null
}

export function recorderOf(append: (recorded: Recorded) => void): Recorder {
  return {
    started: ({ version, sockets, checkpoint }, atMs) =>
      append({
        atMs,
        entry: {
          kind: 'start',
          version,
          sockets,
          checkpoint: checkpoint === null ? null : recordedCheckpoint(checkpoint),
        },
      }),
    arrived: (arrival, atMs) => {
      const isHistory = arrival.kind === 'remembered'
      append({ atMs, entry: isHistory ? recordedHistory(arrival.memory) : arrival })
    },
    externalReceived: (batch, atMs) => {
      const events = batch.map((event) =>
        event.kind === 'measure-history' ? recordedMeasure(event) : event,
      )
      append({ atMs, entry: { kind: 'outside', events } })
    },
    published: (documents, atMs) =>
      append({
        atMs,
        entry: { kind: 'publish', documents: documents.map((document) => documentCrc(document)) },
      }),
    gathered: (analysis, atMs) => append({ atMs, entry: { kind: 'gather', analysis } }),
    rendered: (analysis, document, atMs) =>
      append({ atMs, entry: { kind: 'rendered', analysis, document: documentCrc(document) } }),
  }
}

export function restoredArrival(recorded: RecordedArrival): Arrival {
  if (recorded.kind !== 'remembered') return recorded
  return { kind: 'remembered', memory: restoredHistory(recorded) }
}

export function restoredExternal({ events }: RecordedExternal): Batch {
  return events.map((event) => (event.kind === 'measure-history' ? restoredMeasure(event) : event))
}

export function restoredCheckpoint({ version, listings, coins }: RecordedCheckpoint): Checkpoint {
  return {
    version,
    listings,
    coins: new Map(
      coins.map(([coin, text]) => [
        coin,
        new Float64Array(new Uint8Array(Buffer.from(text, 'base64')).buffer),
      ]),
    ),
  }
}

/** Covers the bytes and all other members that affect an answer. */
export function documentCrc(document: Document, facts = documentFacts(document)): number {
  return crc32(bytesOf(document), crc32(facts))
}

/** All members of a document except its bytes, as JSON. */
export function documentFacts({ bytes: _, tail: __, ...facts }: Document): string {
  return JSON.stringify(facts)
}

function recordedCheckpoint({ version, listings, coins }: Checkpoint): RecordedCheckpoint {
  return {
    version,
    listings,
    coins: Array.from(coins, ([coin, { buffer, byteOffset, byteLength }]) => [
      coin,
      Buffer.from(buffer, byteOffset, byteLength).toString('base64'),
    ]),
  }
}
