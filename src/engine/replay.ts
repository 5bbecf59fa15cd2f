import { createHash } from 'node:crypto'
import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { documentContracts, documentKinds } from '../compute/analyses/registry.ts'
import { renderMarket } from '../compute/analyses/render-market.ts'
import type { MarketJob } from '../compute/analysis.ts'
import { Processor } from '../compute/processor.ts'
import type { Document, DocumentKey } from '../domain/document.ts'
import { documentKey, WHOLE_MARKET } from '../domain/document.ts'
import { bytesOf } from '../domain/document-bytes.ts'
import type { Batch } from '../domain/event.ts'
import type { ResolvedClaim } from '../domain/track-record.ts'
import { EngineReplica } from '../link/engine-replica.ts'
import { Ingest } from '../streams/hyperliquid/ingest/ingest.ts'
import type { Recorded, RecordedArrival, RecordedStart } from './recording.ts'
import {
  documentCrc,
  documentFacts,
  restoredArrival,
  restoredCheckpoint,
  restoredExternal,
} from './recording.ts'

export type ReplayReport = {
  /** Recorded engine starts. */
  readonly runs: number
  /** Version of perpscope that recorded the last run; null without a run. */
  readonly version: string | null
  readonly entries: number
  /** Entries before the first start, which cannot be replayed. */
  readonly entriesSkipped: number
  readonly frames: number
  readonly publishes: number
  readonly documents: number
  /** SHA-256 of all documents in order of publication. */
  readonly hash: string
  readonly fromMs: number | null
  readonly toMs: number | null
  /** Sum of the durations of all runs, without the time between them. */
  readonly spanMs: number
  /** Publishes that were compared with the recorded checksums. */
  readonly publishesCompared: number
  /** The first document that differs from the recorded one; null if none does. */
  readonly divergence: Divergence | null
  /** The last instant before the first loss; null for a complete recording. */
  readonly incompleteSinceMs: number | null
}

type Divergence = {
  readonly atMs: number
  /** null if the recorded engine published a document that the replay did not. */
  readonly key: DocumentKey | null
}

/** One engine of the recording. */
type Run = {
  readonly ingest: Ingest
  readonly processor: Processor
  /** Gathered jobs whose documents were not published yet. */
  readonly jobs: Map<string, MarketJob>
  readonly fromMs: number
  toMs: number
  /** False after a loss: documents are no longer compared. */
  isWhole: boolean
}

/** Runs a recording through processors without a clock, and compares the documents with the recorded checksums. */
export class Replay {
  /** The state of a gateway at the end. */
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
  /** Of earlier runs. */
  #spanMs = 0
  #hasLoss = false
  #divergence: Divergence | null = null
  #incompleteSinceMs: number | null = null
  /** Claims of earlier runs that were not taken. */
  readonly #claimsBefore: ResolvedClaim[] = []

  process({ atMs, entry }: Recorded): void {
    this.#entries += 1
    if (entry.kind === 'start') this.#start(entry, atMs)
    const run = this.#run
    if (run === null) {
      this.#entriesSkipped += 1
      return
    }
    if (this.#hasLoss) this.#markIncomplete(run)
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

  /** Adds events that the recording lacks. The documents are then no longer those of the recorded engine. */
  add(batch: Batch): void {
    if (this.#run === null) return
    this.#run.isWhole = false
    this.#run.processor.process(batch)
  }

  /** Reports that entries are missing here. Entries up to the next start are not compared. */
  noteLoss(): void {
    this.#hasLoss = true
  }

  /** The last documents of every coin that was listed at the end. */
  *documents(): Generator<Document> {
    const coins = this.#run?.processor.view.listings.map(({ coin }) => coin) ?? []
    for (const subject of [...coins, WHOLE_MARKET]) {
      for (const { id } of documentContracts) {
        const document = this.replica.document(documentKey(id, subject))
        if (document !== undefined) yield document
      }
    }
  }

  /** The instant of the last publish. */
  get publishedMs(): number {
    return this.#publishedMs
  }

  /** Claims that were resolved since the last call. */
  takeClaims(): readonly ResolvedClaim[] {
    return [...this.#claimsBefore.splice(0), ...claimsOf(this.#run)]
  }

  report(): ReplayReport {
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
    this.#hasLoss = false
    this.#claimsBefore.push(...claimsOf(this.#run))
    const processor = new Processor(documentKinds, version)
    if (checkpoint !== null) {
      processor.restore(restoredCheckpoint(checkpoint), atMs)
      this.replica.apply({ kind: 'universe', listings: processor.view.listings }, atMs)
    }
    const ingest = new Ingest({
      sockets,
      known: processor.view.listings,
      knownTrades: (coin) => processor.view.knownTrades(coin),
    })
    this.#run = { ingest, processor, jobs: new Map(), fromMs: atMs, toMs: atMs, isWhole: true }
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
      this.#hash.update(facts).update(bytesOf(document))
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

  #markIncomplete(run: Run): void {
    this.#hasLoss = false
    run.isWhole = false
    this.#incompleteSinceMs ??= run.toMs
  }
}

/** Not negative: the clock may have been set back during the run. */
function spanMsOf(run: Run | null): number {
  return run === null ? 0 : Math.max(0, run.toMs - run.fromMs)
}

function claimsOf(run: Run | null): readonly ResolvedClaim[] {
  return run?.processor.records.takeClaims() ?? []
}
