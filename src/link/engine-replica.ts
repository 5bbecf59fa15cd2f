import type { DexStatus } from '../domain/dex.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import { documentKey, subjectOf, WHOLE_MARKET } from '../domain/document.ts'
import type { StoreHealth } from '../domain/history.ts'
import { TickerIndex, tradableOf } from '../domain/listing.ts'
import { hasAnswerIn } from '../domain/packed-document.ts'
import type { SentDocument } from '../domain/placed-document.ts'
import { PlacedDocument } from '../domain/placed-document.ts'
import type {
  EngineMessage,
  EngineOrigin,
  FeedHealth,
  Heartbeat,
  RecordingHealth,
  SourceHealth,
  SubjectMessage,
} from './message.ts'

/** A connected engine that sends no message for longer counts as hanging. */
export const ENGINE_SILENCE_MS_MAX = 15_000

/**
 * `unavailable`: no engine is connected, or it has sent no message since it connected. `silent`: it is connected, but
 * has sent no message for longer than {@link ENGINE_SILENCE_MS_MAX}.
 */
export type EngineState = 'available' | 'silent' | 'unavailable'

/** The gateway's read access to the state of the engine. */
export interface EngineReader {
  state(nowMs: number): EngineState
  /** The engine of this process has neither sent a message nor ended yet. */
  readonly isStarting: boolean
  document(key: DocumentKey): Document | undefined
  resolve(ticker: string): ReturnType<TickerIndex['resolve']>
  /** Venue spellings of the coins whose default pulse can be answered, sorted. */
  coins(): readonly string[]
  feeds(): readonly FeedHealth[]
  sources(): readonly SourceHealth[]
  /** Builder-deployed dexes that are known, in the venue's order. */
  dexes(): readonly DexStatus[]
  /** null before the first heartbeat. */
  store(): StoreHealth | null
  /** null without a recording. */
  recording(): RecordingHealth | null
  /** Feed events since the engine started, by name. */
  counts(): Readonly<Record<string, number>>
  /** The venue's clock minus the engine's, milliseconds; null before the first book. */
  venueAheadMs(): number | null
}

/** The gateway's copy of the engine's documents, updated by its messages. */
export class EngineReplica implements EngineReader {
  readonly #subjects = new Map<string, Map<DocumentKey, SentDocument>>()
  readonly #ready = new Set<string>()
  readonly #readiness: Readiness
  #sortedReady: readonly string[] | null = []
  #listed: readonly string[] = []
  #tickers = new TickerIndex([])
  #feeds: readonly FeedHealth[] = []
  #sources: readonly SourceHealth[] = []
  #dexes: readonly DexStatus[] = []
  #storeHealth: StoreHealth | null = null
  #recording: RecordingHealth | null = null
  #counts: Readonly<Record<string, number>> = {}
  #venueAheadMs: number | null = null
  #origin: ReceivedOrigin | null = null
  #heartbeat: ReceivedHeartbeat | null = null
  #heardAtMs = Number.NEGATIVE_INFINITY
  #isConnected = false
  #isStarting = true

  /** `readiness`: the analysis and view whose answer puts a coin on the list. */
  constructor(readiness: Readiness) {
    this.#readiness = readiness
  }

  /** Documents stay: their ages grow, and the next engine replaces them. They would keep the memory of the ended one. */
  disconnected(): void {
    for (const documents of this.#subjects.values())
      for (const held of documents.values()) if (held instanceof PlacedDocument) this.#own(held)
    this.#isConnected = false
    this.#isStarting = false
  }

  /** Deletes all documents. */
  forget(): void {
    for (const subject of this.#subjects.keys()) this.#delete(subject)
    this.#ready.clear()
    this.#sortedReady = null
  }

  apply(message: EngineMessage, nowMs: number): void {
    switch (message.kind) {
      case 'documents':
        for (const document of message.documents) this.#store(document)
        break
      case 'subject':
        this.#replace(message)
        break
      case 'universe':
        this.#listed = tradableOf(message.listings)
        this.#tickers = new TickerIndex(this.#listed)
        this.#retain(new Set(this.#listed))
        break
      case 'heartbeat':
        this.#feeds = message.heartbeat.feeds
        this.#sources = message.heartbeat.sources
        this.#dexes = message.heartbeat.dexes ?? []
        this.#storeHealth = message.heartbeat.store
        this.#recording = message.heartbeat.recording ?? null
        this.#counts = message.heartbeat.counts
        this.#venueAheadMs = message.heartbeat.venueAheadMs ?? null
        this.#origin = originFrom(message.heartbeat, nowMs)
        this.#heartbeat = { ...message.heartbeat, receivedAtMs: nowMs }
        break
      default:
        message satisfies never
    }
    // A broker keeps the other messages of an engine that has ended.
    if (message.kind !== 'documents' && message.kind !== 'heartbeat') return
    this.#isConnected = true
    this.#isStarting = false
    this.#heardAtMs = nowMs
  }

  get isStarting(): boolean {
    return this.#isStarting
  }

  /** Of the newest heartbeat; null if the engine is part of this process. */
  get origin(): ReceivedOrigin | null {
    return this.#origin
  }

  /** The newest one; null before the first. */
  get heartbeat(): ReceivedHeartbeat | null {
    return this.#heartbeat
  }

  /** Coins that trade, in the venue's order, with or without answers. */
  get listed(): readonly string[] {
    return this.#listed
  }

  state(nowMs: number): EngineState {
    if (!this.#isConnected) return 'unavailable'
    return nowMs - this.#heardAtMs > ENGINE_SILENCE_MS_MAX ? 'silent' : 'available'
  }

  document(key: DocumentKey): Document | undefined {
    const held = this.#subjects.get(subjectOf(key))?.get(key)
    return held instanceof PlacedDocument ? this.#own(held) : held
  }

  /** The views of a document that is not kept for other readers. */
  viewsOf(key: DocumentKey): DocumentViews | undefined {
    const held = this.#subjects.get(subjectOf(key))?.get(key)
    if (!(held instanceof PlacedDocument)) return held
    const facts = held.facts()
    return facts && { ...facts, renderedAtMs: held.renderedAtMs }
  }

  /** Whether a view that is not numbered has an answer. The document is not kept for other readers. */
  hasAnswerIn(key: DocumentKey, view: string): boolean {
    const held = this.#subjects.get(subjectOf(key))?.get(key)
    return held !== undefined && answersIn(held, view)
  }

  /** All documents of one coin or of the whole market; read them by {@link ownDocuments} at once. */
  documentsOf(subject: string): readonly SentDocument[] {
    return [...(this.#subjects.get(subject)?.values() ?? [])]
  }

  resolve(ticker: string): ReturnType<TickerIndex['resolve']> {
    return this.#tickers.resolve(ticker)
  }

  coins(): readonly string[] {
    this.#sortedReady ??= [...this.#ready].sort((a, b) => (a < b ? -1 : 1))
    return this.#sortedReady
  }

  feeds(): readonly FeedHealth[] {
    return this.#feeds
  }

  sources(): readonly SourceHealth[] {
    return this.#sources
  }

  dexes(): readonly DexStatus[] {
    return this.#dexes
  }

  store(): StoreHealth | null {
    return this.#storeHealth
  }

  recording(): RecordingHealth | null {
    return this.#recording
  }

  counts(): Readonly<Record<string, number>> {
    return this.#counts
  }

  venueAheadMs(): number | null {
    return this.#venueAheadMs
  }

  /** An older version never replaces a newer one. */
  #store(document: SentDocument): void {
    const subject = subjectOf(document.key)
    const documents = this.#subjects.get(subject) ?? new Map<DocumentKey, SentDocument>()
    this.#subjects.set(subject, documents)
    const held = documents.get(document.key)
    if (held !== undefined && held.version >= document.version) {
      release(document)
      return
    }
    if (held !== undefined) release(held)
    documents.set(document.key, document)
    if (document.key === this.#readinessKey(subject)) this.#noteReadiness(subject)
  }

  #replace({ subject, documents }: SubjectMessage): void {
    this.#delete(subject)
    this.#subjects.set(subject, new Map(documents.map((document) => [document.key, document])))
    this.#noteReadiness(subject)
  }

  #delete(subject: string): void {
    for (const held of this.#subjects.get(subject)?.values() ?? []) release(held)
    this.#subjects.delete(subject)
  }

  /** A reader may have the document for longer than the replica, so it gets bytes that the engine cannot write. */
  #own(held: PlacedDocument): Document | undefined {
    const own = held.copy()
    if (own !== undefined) this.#subjects.get(subjectOf(held.key))?.set(held.key, own)
    held.release()
    return own
  }

  #noteReadiness(subject: string): void {
    const isReady = this.hasAnswerIn(this.#readinessKey(subject), this.#readiness.view)
    if (isReady === this.#ready.has(subject)) return
    if (isReady) this.#ready.add(subject)
    else this.#ready.delete(subject)
    this.#sortedReady = null
  }

  #readinessKey(subject: string): DocumentKey {
    return documentKey(this.#readiness.analysis, subject)
  }

  #retain(coins: ReadonlySet<string>): void {
    for (const subject of this.#subjects.keys())
      if (subject !== WHOLE_MARKET && !coins.has(subject)) this.#delete(subject)
    for (const coin of this.#ready) if (!coins.has(coin)) this.#ready.delete(coin)
    this.#sortedReady = null
  }
}

function release(document: SentDocument): void {
  if (document instanceof PlacedDocument) document.release()
}

function answersIn(document: SentDocument, view: string): boolean {
  return document instanceof PlacedDocument
    ? document.hasAnswerIn(view)
    : hasAnswerIn(document, view)
}

export type DocumentViews = Pick<Document, 'renderedAtMs' | 'views' | 'numbered'>

/** `receivedAtMs`: the gateway's clock. */
type ReceivedOrigin = EngineOrigin & { readonly receivedAtMs: number }

type ReceivedHeartbeat = Heartbeat & { readonly receivedAtMs: number }

function originFrom({ origin }: Heartbeat, receivedAtMs: number): ReceivedOrigin | null {
  return origin === undefined ? null : { ...origin, receivedAtMs }
}

export type Readiness = { readonly analysis: string; readonly view: string }
