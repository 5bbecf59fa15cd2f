import assert from 'node:assert/strict'
import { documentKinds } from '../src/compute/analyses/registry.ts'
import { PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../src/compute/processor.ts'
import type { Document } from '../src/domain/document.ts'
import { documentKey, subjectOf, WHOLE_MARKET } from '../src/domain/document.ts'
import { PackedDocument, packDocument } from '../src/domain/packed-document.ts'
import { ownDocuments } from '../src/domain/placed-document.ts'
import type { Broker, FrameParts } from '../src/link/broker/broker.ts'
import { Leadership } from '../src/link/broker/leadership.ts'
import { Publisher } from '../src/link/broker/publisher.ts'
import { RedisBroker } from '../src/link/broker/redis-broker.ts'
import { EngineReplica } from '../src/link/engine-replica.ts'
import { HEARTBEAT, universeOf } from '../src/link/testing/engine-messages.ts'
import { monotonicMs, systemClock } from '../src/roles/system-clock.ts'
import type { RedisServer } from '../test/support/redis.ts'
import { startRedis } from '../test/support/redis.ts'
import { until } from '../test/support/service.ts'
import { wait } from './cluster-buyers.ts'
import type { ClusterLine } from './cluster-line.ts'
import { quantile } from './cluster-line.ts'
import { MirrorProcess } from './cluster-mirror.ts'
import { redisUsage } from './cluster-redis-usage.ts'
import { digestOf, machineMs } from './document-digest.ts'
import { FullMarket } from './full-market.ts'

const P50_MS_MAX = 2
const P99_MS_MAX = 20
const MIRROR_MS_MAX = 2_000
/** Seconds of rendering: all documents in the first; in the others, which are published in turns, those that are due. */
const RENDERINGS = 25
const SETTLE_MS = 1_500

export type FanOutSize = { readonly coins: number; readonly seconds: number }

/** Publishes the documents of a rendered market at the cadence of an engine, to 2 and to 8 gateways. */
export async function* fanOutLines({ coins, seconds }: FanOutSize): AsyncGenerator<ClusterLine> {
  const market = new FullMarket(coins, documentKinds)
  const renderings = Array.from({ length: RENDERINGS }, (_, round) => {
    market.stir(round)
    const due = market.render(round).filter((document) => isDue(document, round))
    return Map.groupBy(due.map(packDocument), ({ key }) => subjectOf(key))
  })
  for (const gateways of [2, 8]) yield* await fanOutTo(gateways, market.coins, renderings, seconds)
}

/** A document about the whole market is rendered in its period. */
function isDue({ key }: Document, round: number): boolean {
  const { periodMs = PUBLISH_PERIOD_MS } =
    documentKinds.market.find(({ contract }) => documentKey(contract.id, WHOLE_MARKET) === key) ??
    {}
  return (round * PUBLISH_PERIOD_MS) % periodMs < PUBLISH_PERIOD_MS
}

/** The documents of each subject, in the form in which they leave the thread of the engine. */
type Rendering = ReadonlyMap<string, readonly PackedDocument[]>

async function fanOutTo(
  gatewayCount: number,
  coins: readonly string[],
  renderings: readonly Rendering[],
  seconds: number,
): Promise<readonly ClusterLine[]> {
  const server = await startRedis()
  const engine = new BenchEngine(server, coins, renderings)
  const gateways: MirrorProcess[] = []
  try {
    await engine.leads()
    for (let at = 0; at < gatewayCount; at += 1) gateways.push(new MirrorProcess(server.url))
    for (const gateway of gateways) await gateway.isReady()
    await wait(SETTLE_MS)
    const before = await Promise.all(gateways.map((gateway) => gateway.report()))
    const [start, redisStart] = [engine.usage(), await redisUsage(server)]
    await wait(seconds * 1_000)
    const [finish, redisFinish] = [engine.usage(), await redisUsage(server)]
    const after = await Promise.all(gateways.map((gateway) => gateway.report()))
    const late = new MirrorProcess(server.url)
    gateways.push(late)
    const { readyMs } = await late.isReady()
    const final = await engine.finish()
    const wrong = await differences(gateways, final)
    const frames = finish.frames - start.frames
    const delaysMs = after.flatMap(({ receipts }) =>
      receipts.flatMap(({ subject, version, usableAtMs }) => {
        const publishedAtMs = engine.renderedAtMs(subject, version)
        return publishedAtMs === undefined ? [] : [usableAtMs - publishedAtMs]
      }),
    )
    assert(delaysMs.length > 0 && frames > 0, 'documents were published and received')
    const [p50Ms, p99Ms] = [quantile(delaysMs, 0.5), quantile(delaysMs, 0.99)]
    const gatewayCpu = after.map(
      ({ cpuMicroseconds }, at) => cpuMicroseconds - (before[at]?.cpuMicroseconds ?? 0),
    )
    const perFrame = (microseconds: number) => (microseconds / frames).toFixed(0)
    const what = `${coins.length} coins to ${gatewayCount} gateways`
    return [
      {
        what: `${what}: publish to usable, p50 / p99`,
        measured: `${p50Ms.toFixed(1)} / ${p99Ms.toFixed(1)} ms of ${delaysMs.length}`,
        bar: `${P50_MS_MAX} / ${P99_MS_MAX} ms`,
        isMet: p50Ms <= P50_MS_MAX && p99Ms <= P99_MS_MAX,
      },
      {
        what: `${what}: a publication of the changed documents of one coin`,
        measured: [
          `${((finish.bytes - start.bytes) / frames / 1_000).toFixed(1)} kB`,
          `CPU: engine ${perFrame(finish.cpuMicroseconds - start.cpuMicroseconds)} µs`,
          `broker ${perFrame(redisFinish.cpuMicroseconds - redisStart.cpuMicroseconds)} µs`,
          `each gateway ${perFrame(quantile(gatewayCpu, 0.5))} µs`,
        ].join(', '),
        bar: '',
        isMet: null,
      },
      {
        what: `${what}: start to full mirror`,
        measured: `${readyMs?.toFixed(0)} ms, ${final.size} documents`,
        bar: `${MIRROR_MS_MAX} ms`,
        isMet: readyMs !== null && readyMs <= MIRROR_MS_MAX,
      },
      {
        what: `${what}: wrong documents at the end`,
        measured: `${wrong} of ${final.size * gateways.length}`,
        bar: '0',
        isMet: wrong === 0,
        isWrong: wrong > 0,
      },
    ]
  } finally {
    engine.stop()
    for (const gateway of gateways) await gateway.end()
    await server.close()
  }
}

/** Publishes finished renderings in phases, as the engine does, and counts what that costs. */
class BenchEngine {
  readonly #replica = new EngineReplica({ analysis: 'pulse', view: '1h,4h' })
  readonly #renderedAtMs = new Map<string, number>()
  readonly #broker: RedisBroker
  readonly #leadership: Leadership
  readonly #publisher: Publisher
  readonly #renderings: readonly Rendering[]
  readonly #stops: (() => void)[] = []
  #version = 0
  #phase = 0
  #frames = 0
  #bytes = 0
  #inFlight = 0

  constructor(server: RedisServer, coins: readonly string[], renderings: readonly Rendering[]) {
    this.#renderings = renderings
    this.#broker = new RedisBroker({
      url: server.url,
      clock: systemClock,
      random: Math.random,
      onFailure: () => {},
    })
    this.#leadership = new Leadership({
      ...{ broker: this.#broker, engineId: 'bench', clock: systemClock, monotonicMs },
      isFit: () => true,
      onChange: () => {},
    })
    this.#publisher = new Publisher({
      replica: this.#replica,
      broker: this.#counted(this.#broker),
      leadership: this.#leadership,
      clock: systemClock,
      monotonicMs,
    })
    const beat = () => this.#publisher.apply(HEARTBEAT, systemClock.nowMs())
    this.#publisher.apply(universeOf(coins), systemClock.nowMs())
    beat()
    this.#leadership.start()
    this.#publisher.start()
    const phaseMs = PUBLISH_PERIOD_MS / PUBLISH_PHASES
    const subjects = [...coins, WHOLE_MARKET]
    this.#stops.push(
      systemClock.every(1_000, beat),
      systemClock.every(phaseMs, () => this.#render(subjects)),
    )
  }

  async leads(): Promise<void> {
    await until('the engine leads', async () => this.#leadership.lease !== null)
  }

  renderedAtMs(subject: string, version: number): number | undefined {
    return this.#renderedAtMs.get(`${subject} ${version}`)
  }

  usage() {
    const { user, system } = process.cpuUsage()
    return { frames: this.#frames, bytes: this.#bytes, cpuMicroseconds: user + system }
  }

  /** Ends the rendering. @returns digests of the documents, after everything is published */
  async finish(): Promise<ReadonlyMap<string, string>> {
    this.#stops.pop()?.()
    await wait(SETTLE_MS)
    await until('nothing is in flight', async () => this.#inFlight === 0)
    const documents = [...(this.#renderings[0]?.keys() ?? [])].flatMap((subject) =>
      ownDocuments(this.#replica.documentsOf(subject)),
    )
    return new Map(documents.map((one) => [one.key, digestOf(one)]))
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#publisher.stop()
    void this.#leadership.stop().then(() => this.#broker.close())
  }

  #render(subjects: readonly string[]): void {
    const round = Math.floor(this.#phase / PUBLISH_PHASES)
    const [first, ...later] = this.#renderings
    const rendering = round === 0 ? first : later[(round - 1) % later.length]
    const nowMs = systemClock.nowMs()
    for (let at = this.#phase % PUBLISH_PHASES; at < subjects.length; at += PUBLISH_PHASES) {
      const subject = subjects[at] ?? ''
      this.#version += 1
      const version = this.#version
      const documents = (rendering?.get(subject) ?? []).map(
        (one) => new PackedDocument({ ...one, version, renderedAtMs: nowMs }),
      )
      this.#renderedAtMs.set(`${subject} ${version}`, machineMs())
      if (documents.length > 0) this.#publisher.apply({ kind: 'documents', documents }, nowMs)
    }
    this.#phase += 1
  }

  #counted(broker: RedisBroker): Pick<Broker, 'publish' | 'send' | 'retain'> {
    return {
      send: (...sent) => broker.send(...sent),
      retain: (...kept) => broker.retain(...kept),
      publish: async (lease, publication) => {
        this.#frames += 1
        this.#bytes += sizeOf(publication.parts)
        this.#inFlight += 1
        try {
          return await broker.publish(lease, publication)
        } finally {
          this.#inFlight -= 1
        }
      },
    }
  }
}

function sizeOf({ head, documents }: FrameParts): number {
  return [...documents.values()].reduce((sum, { length }) => sum + length, head.length)
}

/** @returns the number of documents that a gateway has otherwise than the engine, or not at all */
async function differences(
  gateways: readonly MirrorProcess[],
  final: ReadonlyMap<string, string>,
): Promise<number> {
  let wrong = 0
  for (const gateway of gateways) {
    const digests = await gateway.digests()
    for (const [key, digest] of final) if (digests[key] !== digest) wrong += 1
    for (const key of Object.keys(digests)) if (!final.has(key)) wrong += 1
  }
  return wrong
}
