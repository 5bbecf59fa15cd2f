import { join } from 'node:path'
import { pino } from 'pino'
import { concatMap, map, timer } from 'rxjs'
import type { Document } from '../../src/domain/document.ts'
import { snapshotIdOf } from '../../src/domain/document.ts'
import { bytesOf } from '../../src/domain/document-bytes.ts'
import { ownDocuments } from '../../src/domain/placed-document.ts'
import { Engine } from '../../src/engine/engine.ts'
import { synchronousRenderer } from '../../src/engine/market-renderer.ts'
import { recorderOf } from '../../src/engine/recording.ts'
import { EngineReplica } from '../../src/link/engine-replica.ts'
import { catalog } from '../../src/simulator/market/catalog.ts'
import { CoinMarkets } from '../../src/simulator/market/coin-markets.ts'
import { modelCoins } from '../../src/simulator/market/seeded-market.ts'
import { venueCadences, venueLimits } from '../../src/simulator/venue/limits.ts'
import { Venue } from '../../src/simulator/venue/venue.ts'
import { FrameLogWriter } from '../../src/store/frame-log-writer.ts'
import type { Post } from '../../src/streams/runtime.ts'
import { Chance } from '../simulation/chance.ts'
import { Kernel } from '../simulation/kernel.ts'
import { Machine, withoutRealTimers } from '../simulation/machine.ts'
import { Network } from '../simulation/network.ts'

const SEED = 11
/** Enough for two slices of a checkpoint; each costs CPU as long as it runs, in every replay too. */
export const RECORDED_COINS = 6
const SLICE_MS = 1_000
const VERSION = '1.2.3'
const LOG_BYTES_MAX = 1e9

/** Our engine and the simulated venue in virtual time, recorded into a real file. */
export class RecordedEngine {
  /** State of a gateway. */
  readonly replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  /** All published documents, in order. */
  readonly documents: Document[] = []
  readonly venue: Venue
  /** Added to the latency of every reply of the venue. */
  replyDelayMs = 0
  readonly #folder: string
  readonly #kernel: Kernel
  readonly #machine: Machine
  readonly #network: Network
  readonly #writer: FrameLogWriter
  readonly #receivedNames = new Set<string>()
  #engine: Engine | null = null

  private constructor(folder: string, kernel: Kernel, writer: FrameLogWriter) {
    const model = modelCoins(SEED, kernel.nowMs)
    this.#folder = folder
    this.#kernel = kernel
    this.#writer = writer
    this.#machine = new Machine(kernel, new Chance(SEED, 'machine'))
    this.venue = new Venue({
      market: new CoinMarkets({
        clockShiftMs: 0,
        coins: catalog.slice(0, RECORDED_COINS).map((row) => model.ofCatalog(row)),
        newCoin: model.ofListing,
      }),
      clock: kernel.clock,
      limits: venueLimits,
      cadences: venueCadences,
    })
    const chance = new Chance(SEED, 'network')
    this.#network = new Network({ kernel, venue: this.venue, chance, tap: {} })
  }

  static async open(folder: string, path: string, startMs: number): Promise<RecordedEngine> {
    const kernel = new Kernel(startMs)
    const writer = await FrameLogWriter.open(path, {
      bytesMax: LOG_BYTES_MAX,
      clock: kernel.clock,
      onStopped: (cause) => {
        throw cause
      },
    })
    return new RecordedEngine(folder, kernel, writer)
  }

  get nowMs(): number {
    return this.#kernel.nowMs
  }

  start(): void {
    const process = this.#machine.process((cause) => {
      throw cause
    })
    const { clock, scheduler } = process
    const post = this.#network.postOf(process, 'here')
    let isStarting = true
    const delayedPost: Post = (url, body) =>
      post(url, body).pipe(
        concatMap((reply) => timer(this.replyDelayMs, scheduler).pipe(map(() => reply))),
      )
    this.#engine = withoutRealTimers(() =>
      Engine.start(
        {
          venue: { wsUrl: 'ws://venue/ws', infoUrl: 'http://venue/info' },
          weightPerMinute: 1_000,
          dexes: [],
          dataDir: join(this.#folder, 'data'),
          version: VERSION,
        },
        {
          clock,
          log: pino({ level: 'silent' }),
          renderer: synchronousRenderer,
          runtime: {
            scheduler,
            random: new Chance(SEED, 'engine').next,
            connect: this.#network.connectOf(process, 'here'),
            post: delayedPost,
          },
          recorder: recorderOf((recorded) => this.#writer.append(recorded)),
        },
        (message) => {
          this.replica.apply(message, clock.nowMs())
          if (message.kind === 'documents')
            this.#received(ownDocuments(message.documents), isStarting)
        },
      ),
    )
    isStarting = false
  }

  /** At its start an engine repeats documents that its predecessor rendered and recorded. */
  #received(documents: readonly Document[], isStarting: boolean): void {
    for (const document of documents) {
      const name = `${document.key} ${document.version}`
      if (isStarting && this.#receivedNames.has(name)) continue
      this.#receivedNames.add(name)
      this.documents.push(plain(document))
    }
  }

  stop(): void {
    withoutRealTimers(() => this.#engine?.stop())
  }

  /** Runs in slices, so that the log is written in between. */
  async run(seconds: number): Promise<void> {
    const untilMs = this.nowMs + seconds * 1_000
    while (this.nowMs < untilMs) {
      withoutRealTimers(() => this.#kernel.runUntil(this.nowMs + SLICE_MS))
      await this.#writer.flush()
    }
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}

/** As it was rendered: a checksum covers members that a published document lacks. */
function plain(document: Document): Document {
  const { key, version, renderedAtMs, nextUpdateMs, parts, views, numbered } = document
  const rendering = { snapshotId: snapshotIdOf(renderedAtMs), engineVersion: VERSION }
  const identity = { key, version, renderedAtMs, ...rendering, nextUpdateMs }
  return { ...identity, bytes: bytesOf(document), parts, views, numbered }
}
