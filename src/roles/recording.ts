import { crc32 } from 'node:zlib'
import type { Checkpoint } from '../domain/checkpoint.ts'
import type { Document } from '../domain/document.ts'
import type { Batch, MarketEvent } from '../domain/event.ts'
import type { MeasureHistoryEvent } from '../domain/external.ts'
import type { Listing } from '../domain/listing.ts'
import type { Arrival } from '../streams/hyperliquid/ingest/arrival.ts'
import type { OnArrival } from '../streams/hyperliquid/ingest/frame-processor.ts'
import type { RecordedMeasure, RecordedMemory } from './recorded-memory.ts'
import {
  recordedMeasure,
  recordedMemory,
  restoredMeasure,
  restoredMemory,
} from './recorded-memory.ts'

/**
 * What a recording holds, in the order in which it happened: what an engine knew when it started,
 * whatever reached it, and when it published. That is all its documents depend on. A change of what
 * stands here, or in {@link Arrival}, is a new version of the log's format.
 */
export type Recorded = { readonly atMs: number; readonly entry: RecordedEntry }

type RecordedEntry =
  | RecordedStart
  | RecordedArrival
  | RecordedExternal
  /** The engine published, and these are the checksums of its documents: {@link documentCrc}. */
  | { readonly kind: 'publish'; readonly documents: readonly number[] }
  /** The engine read the market for a document about all coins ... */
  | { readonly kind: 'gather'; readonly analysis: string }
  /** ... and that document came back and was published. */
  | { readonly kind: 'rendered'; readonly analysis: string; readonly document: number }

/** What a source beyond the venue told, decoded: many protocols, and each decoder is a pure function. */
export type RecordedExternal = {
  readonly kind: 'outside'
  readonly events: readonly (Exclude<MarketEvent, MeasureHistoryEvent> | RecordedMeasure)[]
}

export type RecordedArrival = Exclude<Arrival, { kind: 'remembered' }> | RecordedMemory

/** An engine started. What follows is its own, until the next one starts. */
export type RecordedStart = {
  readonly kind: 'start'
  /** Of perpscope; it stands in every document. */
  readonly version: string
  /** How many make the feed whole. */
  readonly sockets: number
  readonly checkpoint: RecordedCheckpoint | null
}

type RecordedCheckpoint = {
  readonly version: number
  readonly listings: readonly Listing[]
  /** Each coin and the bytes of its numbers in base64: JSON has neither NaN nor negative zero. */
  readonly coins: readonly (readonly [string, string])[]
}

/** What an engine tells of itself while it is recorded. */
export type Recorder = {
  started(facts: StartFacts, nowMs: number): void
  readonly arrived: OnArrival
  heardExternal(events: Batch, nowMs: number): void
  published(documents: readonly Document[], nowMs: number): void
  gathered(analysis: string, nowMs: number): void
  rendered(analysis: string, document: Document, nowMs: number): void
}

type StartFacts = {
  readonly version: string
  readonly sockets: number
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
      const isMemory = arrival.kind === 'remembered'
      append({ atMs, entry: isMemory ? recordedMemory(arrival.memory) : arrival })
    },
    heardExternal: (batch, atMs) => {
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
  return { kind: 'remembered', memory: restoredMemory(recorded) }
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

/** Of the bytes, and of everything that a reader makes answers of them by. */
export function documentCrc(document: Document, facts = documentFacts(document)): number {
  return crc32(document.bytes, crc32(facts))
}

/** What a document says beside its bytes. */
export function documentFacts({ bytes: _, ...facts }: Document): string {
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
