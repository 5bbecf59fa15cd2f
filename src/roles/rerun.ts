import { createHash } from 'node:crypto'
import { fillDocument } from '../api/fill-document.ts'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { analyses, contracts } from '../compute/analyses/registry.ts'
import type { MarketJob } from '../compute/analysis.ts'
import { Processor } from '../compute/processor.ts'
import type { Answer, Document, DocumentKey } from '../domain/document.ts'
import { documentKey, WHOLE_MARKET } from '../domain/document.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import { Ingest } from '../streams/hyperliquid/ingest/frame-processor.ts'
import { renderMarket } from '../workers/market-worker.ts'
import type { Recorded, RecordedArrival, RecordedStart } from './recording.ts'
import {
  documentCrc,
  documentFacts,
  restoredArrival,
  restoredCheckpoint,
  restoredExternal,
} from './recording.ts'

/** What a recording gave when it was run again. */
export type RerunReport = {
  /** Engines that were recorded, one after the other. */
  readonly runs: number
  /** Of perpscope, that recorded the last one; null without any. */
  readonly version: string | null
  readonly entries: number
  /** Entries before the first start that is left: nothing can be made of them. */
  readonly entriesSkipped: number
  readonly frames: number
  readonly publishes: number
  readonly documents: number
  /** SHA-256 of all documents in the order in which they were published. */
  readonly hash: string
  readonly fromMs: number | null
  readonly toMs: number | null
  /** How long the engines ran, without the time between them. */
  readonly spanMs: number
  /** Publishes that were compared with what the recorded engine published. */
  readonly publishesCompared: number
  /** The first document that is another one than then; null where none is. */
  readonly divergence: Divergence | null
  /** The last instant before something is missing; null for whole runs. */
  readonly incompleteSinceMs: number | null
}

export type Divergence = {
  readonly atMs: number
  /** null where the engine published documents that did not come out now. */
  readonly key: DocumentKey | null
}

/** One engine of the recording. */
type Run = {
  readonly ingest: Ingest
  readonly processor: Processor
  /** Documents about all coins that were gathered for and did not come back yet. */
  readonly jobs: Map<string, MarketJob>
  readonly fromMs: number
  toMs: number
  /** False once something is missing: what comes out from then on proves nothing. */
  isWhole: boolean
}

/**
 * A recording goes through the engine again: arrivals in, documents out, in a loop without a clock. So
 * the same recording gives the same bytes, and they are compared with what was published then.
 */
export class Rerun {
  /** What a gateway would know at the end. */
  readonly replica = new EngineReplica({
    analysis: pulse.contract.id,
    view: pulse.contract.defaultView,
  })
  readonly #hash = createHash('sha256')
  #run: Run | null = null
  #version: string | null = null
  #runs = 0
  #entries = 0
  #entriesSkipped = 0
  #frames = 0
  #publishes = 0
  #publishesCompared = 0
  #documents = 0
  #fromMs: number | null = null
  #publishedMs = 0
  /** Of the runs before the present one. */
  #spanMs = 0
  #isLossBefore = false
  #divergence: Divergence | null = null
  #incompleteSinceMs: number | null = null

  take({ atMs, entry }: Recorded): void {
    this.#entries += 1
    if (entry.kind === 'start') this.#start(entry, atMs)
    const run = this.#run
    if (run === null) {
      this.#entriesSkipped += 1
      return
    }
    if (this.#isLossBefore) this.#noteIncomplete(run)
    this.#fromMs ??= atMs
    run.toMs = atMs
    switch (entry.kind) {
      case 'start':
        break
      case 'publish':
        this.#publish(run, [...run.processor.publish(atMs)], entry.documents, atMs)
        break
      case 'gather':
        run.jobs.set(entry.analysis, run.processor.gather(entry.analysis, atMs))
        break
      case 'rendered': {
        const job = run.jobs.get(entry.analysis)
        if (job !== undefined) this.#publish(run, [renderMarket(job)], [entry.document], atMs)
        break
      }
      case 'outside':
        run.processor.process(restoredExternal(entry))
        break
      default:
        this.#arrive(run, entry, atMs)
    }
  }

  /** Something is missing here. It matters to the entries that follow, up to the next start. */
  lose(): void {
    this.#isLossBefore = true
  }

  /** The last ones of every coin that was listed at the end. */
  *documents(): Generator<Document> {
    const coins = this.#run?.processor.listings.map(({ coin }) => coin) ?? []
    for (const subject of [...coins, WHOLE_MARKET]) {
      for (const { id } of contracts) {
        const document = this.replica.document(documentKey(id, subject))
        if (document !== undefined) yield document
      }
    }
  }

  /** @returns the bytes that a reader would have been sent with the last publish. */
  filled(document: Document, answer: Answer): Buffer {
    return fillDocument(document, answer, {
      nowMs: this.#publishedMs,
      executionMs: 0,
      coinsAvailable: this.replica.coins().length,
    })
  }

  report(): RerunReport {
    return {
      runs: this.#runs,
      version: this.#version,
      entries: this.#entries,
      entriesSkipped: this.#entriesSkipped,
      frames: this.#frames,
      publishes: this.#publishes,
      documents: this.#documents,
      hash: this.#hash.copy().digest('hex'),
      fromMs: this.#fromMs,
      toMs: this.#run?.toMs ?? null,
      spanMs: this.#spanMs + spanMsOf(this.#run),
      publishesCompared: this.#publishesCompared,
      divergence: this.#divergence,
      incompleteSinceMs: this.#incompleteSinceMs,
    }
  }

  #start({ version, sockets, checkpoint }: RecordedStart, atMs: number): void {
    this.#runs += 1
    this.#version = version
    this.#spanMs += spanMsOf(this.#run)
    this.#isLossBefore = false
    const processor = new Processor(analyses, version)
    if (checkpoint !== null) {
      processor.restore(restoredCheckpoint(checkpoint), atMs)
      this.replica.apply({ kind: 'universe', listings: processor.listings }, atMs)
    }
    this.#run = {
      ingest: new Ingest({
        sockets,
        known: processor.listings,
        tradesKnownUntilMs: (coin) => processor.tradesUntilMs(coin),
      }),
      processor,
      jobs: new Map(),
      fromMs: atMs,
      toMs: atMs,
      isWhole: true,
    }
  }

  #arrive({ ingest, processor }: Run, arrival: RecordedArrival, atMs: number): void {
    if (arrival.kind === 'frame') this.#frames += 1
    const batch = ingest.take(restoredArrival(arrival), atMs)
    processor.process(batch)
    for (const event of batch) {
      if (event.kind === 'universe')
        this.replica.apply({ kind: 'universe', listings: event.listings }, atMs)
    }
  }

  #publish(
    run: Run,
    documents: readonly Document[],
    recorded: readonly number[],
    atMs: number,
  ): void {
    const crcs = documents.map((document) => {
      const facts = documentFacts(document)
      this.#hash.update(facts).update(document.bytes)
      return documentCrc(document, facts)
    })
    this.#publishes += 1
    this.#publishedMs = atMs
    this.#documents += documents.length
    this.replica.apply({ kind: 'documents', documents }, atMs)
    if (!run.isWhole) return
    this.#publishesCompared += 1
    const count = Math.max(crcs.length, recorded.length)
    for (let at = 0; at < count && this.#divergence === null; at += 1) {
      if (crcs[at] !== recorded[at]) this.#divergence = { atMs, key: documents[at]?.key ?? null }
    }
  }

  #noteIncomplete(run: Run): void {
    this.#isLossBefore = false
    run.isWhole = false
    this.#incompleteSinceMs ??= run.toMs
  }
}

/** A clock may have been set back meanwhile. */
function spanMsOf(run: Run | null): number {
  return run === null ? 0 : Math.max(0, run.toMs - run.fromMs)
}
