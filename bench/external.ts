import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import Table from 'cli-table3'
import { Observable, tap } from 'rxjs'
import { WebSocket } from 'ws'
import { analyses } from '../src/compute/analyses/registry.ts'
import { Processor, PUBLISH_PERIOD_MS, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { context, universe } from '../src/compute/testing/tape.ts'
import { assetOf } from '../src/domain/external.ts'
import { externalAddresses } from '../src/roles/external-source.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import { systemRuntime } from '../src/roles/system-runtime.ts'
import { ReferencePrices } from '../src/simulator/external/reference-prices.ts'
import { SimulatedSources } from '../src/simulator/external/simulated-sources.ts'
import { seededMarket } from '../src/simulator/market/seeded-market.ts'
import { startSimulatedVenue } from '../src/simulator/venue/simulated-venue.ts'
import { externalFeed } from '../src/streams/external/external-feed.ts'
import { followText, getText, postJson } from '../src/streams/http-exchange.ts'
import type { ExternalRuntime } from '../src/streams/runtime.ts'

/**
 * CPU per second of receiving all external sources at their real cadence, compared with a floor that opens the
 * same sockets and sends the same subscriptions and requests at the same times, and only parses the replies.
 * Each candidate is a separate process; they run at the same time.
 *
 * `tsx bench/external.ts` measures; `--quick` only checks that every source sends data.
 */
const fullMode = { settleMs: 30_000, measuredMs: 60_000 }
const quickMode = { settleMs: 4_000, measuredMs: 1_000 }
const SEED = 5

const candidates = ['floor', 'listened', 'answered'] as const
type Candidate = (typeof candidates)[number]

/** A message or request that an engine sent to one source; `atMs` counts from its start. */
type Sent =
  | { readonly kind: 'socket'; readonly id: number; readonly url: string; readonly atMs: number }
  | { readonly kind: 'text'; readonly id: number; readonly text: string; readonly atMs: number }
  | { readonly kind: 'post'; readonly url: string; readonly body: unknown; readonly atMs: number }
  | {
      readonly kind: 'get' | 'follow'
      readonly url: string
      readonly headers: Record<string, string>
      readonly atMs: number
    }

/** The same without its time. */
type Unstamped = Sent extends infer Each ? (Each extends Sent ? Omit<Each, 'atMs'> : never) : never

type Report =
  | { readonly kind: 'sent'; readonly sent: readonly Sent[] }
  | {
      readonly kind: 'done'
      readonly cpuMsPerSecond: number
      readonly texts: number
      readonly checksum: string
    }

type Orders = {
  readonly source: string
  readonly settleMs: number
  readonly measuredMs: number
  readonly sent: readonly Sent[]
}

const [mode] = process.argv.slice(2)
const candidate = candidates.find((name) => mode === `run-${name}`)
if (candidate !== undefined) process.once('message', (orders: Orders) => run(candidate, orders))
else await measure(mode === '--quick')

async function measure(isQuick: boolean): Promise<void> {
  const { settleMs, measuredMs } = isQuick ? quickMode : fullMode
  const startMs = systemClock.nowMs()
  const market = seededMarket({ seed: SEED, startMs })
  const external = new SimulatedSources(new ReferencePrices({ market, seed: SEED }), systemClock)
  const venue = await startSimulatedVenue({ market, external, clock: systemClock, port: 0 })
  const orders = { source: venue.httpUrl, settleMs, measuredMs }
  const children: ChildProcess[] = []
  const start = (name: Candidate, sent: readonly Sent[]) => {
    const child = fork(import.meta.filename, [`run-${name}`])
    children.push(child)
    child.send({ ...orders, sent } satisfies Orders)
    return child
  }
  try {
    process.stderr.write('writing down what an engine asks\n')
    const { sent } = await reported(start('listened', []), 'sent')
    process.stderr.write(`measuring for ${(settleMs + measuredMs) / 1_000} s\n`)
    const reports = await Promise.all(candidates.map((name) => reported(start(name, sent), 'done')))
    const [floor] = reports
    assert(floor !== undefined && floor.texts > 0, 'the floor has heard something')
    if (isQuick) console.log('quick: every source was heard; nothing was measured')
    else report(reports, floor.cpuMsPerSecond, measuredMs)
  } finally {
    for (const child of children) child.kill()
    await venue.close()
  }
}

function report(
  reports: readonly Extract<Report, { kind: 'done' }>[],
  floorCpuMs: number,
  measuredMs: number,
): void {
  const titles = [
    'received and parsed',
    'all adapters, state and measures',
    'the same, and every answer rendered',
  ]
  const head = ['path', 'CPU ms a second', 'against the floor', 'texts a second', 'checksum']
  const table = new Table({ head, style: { head: [], border: [] } })
  for (const [at, { cpuMsPerSecond, texts, checksum }] of reports.entries())
    table.push([
      titles[at],
      cpuMsPerSecond.toFixed(1),
      (cpuMsPerSecond / floorCpuMs).toFixed(2),
      (texts / (measuredMs / 1_000)).toFixed(0),
      checksum,
    ])
  console.log(table.toString())
}

async function reported<Kind extends Report['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<Report, { kind: Kind }>> {
  for (;;) {
    const [told] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`a child ended with code ${String(code)}`)
      }),
    ])) as [Report]
    if (told.kind === kind) return told as Extract<Report, { kind: Kind }>
  }
}

/** Reports to the parent process. */
function tell(told: Report): void {
  process.send?.(told)
}

function run(name: Candidate, orders: Orders): void {
  process.on('disconnect', () => process.exit())
  const tally = new Tally()
  const checksum = name === 'floor' ? replay(orders, tally) : listen(name, orders, tally)
  setTimeout(() => {
    tally.restart()
    setTimeout(() => {
      tell({
        kind: 'done',
        cpuMsPerSecond: tally.cpuMs / (orders.measuredMs / 1_000),
        texts: tally.texts,
        checksum: checksum(),
      })
    }, orders.measuredMs)
  }, orders.settleMs)
}

/** Counts received texts, and CPU time since the last restart. */
class Tally {
  texts = 0
  #started = process.cpuUsage()

  get cpuMs(): number {
    const { user, system } = process.cpuUsage(this.#started)
    return (user + system) / 1_000
  }

  restart(): void {
    this.texts = 0
    this.#started = process.cpuUsage()
  }
}

/** Repeats the requests of an engine at their times, and parses every reply. */
function replay({ sent, settleMs, measuredMs }: Orders, tally: Tally): () => string {
  let members = 0
  const parse = (text: string) => {
    tally.texts += 1
    for (const line of text.split('\n')) {
      const json = line.startsWith('data:') ? line.slice(5) : line
      try {
        members += Object.keys(JSON.parse(json) as object).length
      } catch {
        // An incomplete line, or a pong.
      }
    }
  }
  const sockets = new Map<number, WebSocket>()
  const begin = (each: Sent) => {
    switch (each.kind) {
      case 'socket': {
        const socket = new WebSocket(each.url, { perMessageDeflate: false })
        socket.on('message', (data) => parse(String(data)))
        sockets.set(each.id, socket)
        break
      }
      case 'text': {
        const socket = sockets.get(each.id)
        if (socket?.readyState === WebSocket.OPEN) socket.send(each.text)
        else socket?.once('open', () => socket.send(each.text))
        break
      }
      case 'post':
        postJson(each.url, each.body).subscribe(({ body }) => parse(body))
        break
      case 'get':
        getText(each.url, each.headers).subscribe(({ body }) => parse(body))
        break
      default:
        followText(each.url, each.headers).subscribe(parse)
    }
  }
  const spanMs = settleMs + measuredMs
  for (const each of sent) if (each.atMs < spanMs) setTimeout(() => begin(each), each.atMs)
  return () => String(members)
}

/** All external sources and the processor; `answered` also publishes, as the engine does. */
function listen(name: Candidate, orders: Orders, tally: Tally): () => string {
  const { source, settleMs, measuredMs } = orders
  const startedMs = systemClock.nowMs()
  const sent: Sent[] = []
  // Analyses that need the venue alone are not measured.
  const coin = analyses.coin.filter(({ contract }) => /^(basis|cex-dex)$/.test(contract.id))
  const processor = new Processor({ ...analyses, coin }, '0.0.0')
  const market = seededMarket({ seed: SEED, startMs: startedMs })
  const coins = market.universe().flatMap(({ coin, isDelisted }) => (isDelisted ? [] : [coin]))
  processor.process([universe(coins)])
  const assets = coins.flatMap((coin) => assetOf(coin)?.asset ?? [])
  const addresses = externalAddresses({ source, outside: 'on', sourceUrl: {}, pythKey: 'bench' })
  const runtime = listening(tally, (each) => {
    sent.push({ ...each, atMs: systemClock.nowMs() - startedMs } as Sent)
  })
  externalFeed(addresses, { assets: () => assets, onNotice: () => {} }, runtime).subscribe(
    (batch) => processor.process(batch),
  )
  let documents = 0
  if (name === 'answered') {
    setInterval(() => {
      const nowMs = systemClock.nowMs()
      const stamp = { timeExchangeMs: nowMs, timeReceivedMs: nowMs }
      for (const coin of coins) {
        const { markPrice = 1, oraclePrice = 1 } = market.context(coin, nowMs) ?? {}
        processor.process([context(coin, { markPrice, oraclePrice, ...stamp })])
      }
      for (const id of ['arb', 'depeg', 'sentiment']) {
        const { gathered, rendering } = processor.gather(id, nowMs)
        const analysis = analyses.market.find(({ contract }) => contract.id === id)
        if (analysis?.render(gathered, rendering) !== undefined) documents += 1
      }
    }, 5_000)
    setInterval(() => {
      documents += [...processor.publish(systemClock.nowMs())].length
    }, PUBLISH_PERIOD_MS / PUBLISH_PHASES)
  }
  setTimeout(() => tell({ kind: 'sent', sent }), settleMs + measuredMs)
  return () =>
    `${processor.view.sources.filter(({ state }) => state === 'up').length} up, ${documents}`
}

/** The real runtime, which records what is sent and counts what is received. */
function listening(tally: Tally, note: (sent: Unstamped) => void): ExternalRuntime {
  const real = systemRuntime(systemClock)
  const counted = <Text>(texts: Observable<Text>) =>
    texts.pipe(
      tap(() => {
        tally.texts += 1
      }),
    )
  let sockets = 0
  return {
    ...real,
    connect: (url, outbound) =>
      new Observable<string>((subscriber) => {
        sockets += 1
        const id = sockets
        note({ kind: 'socket', id, url })
        const texts = outbound.pipe(tap((text) => note({ kind: 'text', id, text })))
        return counted(real.connect(url, texts)).subscribe(subscriber)
      }),
    post: (url, body) => {
      note({ kind: 'post', url, body })
      return counted(real.post(url, body))
    },
    get: (url, headers = {}) => {
      note({ kind: 'get', url, headers })
      return counted(real.get(url, headers))
    },
    follow: (url, headers = {}) => {
      note({ kind: 'follow', url, headers })
      return counted(real.follow(url, headers))
    },
  }
}
