import { systemClock } from '../src/roles/system-clock.ts'
import { newPayment, PRICE } from '../test/support/killed-sales.ts'
import { fromElsewhere, until } from '../test/support/service.ts'
import type { Reply, Seller } from './cluster-buyers.ts'
import { buy, received, refusedBy, wait } from './cluster-buyers.ts'
import type { ClusterLine } from './cluster-line.ts'
import { counted, seconds } from './cluster-line.ts'
import type { SellingCluster } from './cluster-selling.ts'
import { startSelling } from './cluster-selling.ts'

const FRESH_MS_MAX = 5_000
/** Gateways sell for 10 s after the last heartbeat of an engine, and examine that four times a second. */
const LAST_SALE_MS_MAX = 11_000
const BUY_PERIOD_MS = 250
const POLL_MS = 25
/** A further coin appears within this time. */
const LISTED_MS = 4_000

export type BrokerAwaySize = { readonly awayMs: readonly number[]; readonly forGoodMs: number }

/** The broker of two engines and two gateways goes, with and without its data, while buyers go on buying. */
export async function* brokerLines(size: BrokerAwaySize): AsyncGenerator<ClusterLine> {
  const selling = await startSelling(2)
  try {
    const { broker, engines } = selling.cluster
    for (const { adminUrl } of engines)
      await until('both engines can lead', async () => (await fetch(`${adminUrl}/readyz`)).ok)
    await allListed(selling.one)
    const killed = { go: () => broker.kill(), comeBack: () => broker.start() }
    const frozen = {
      go: async () => broker.signal('SIGSTOP'),
      comeBack: async () => broker.signal('SIGCONT'),
    }
    for (const awayMs of size.awayMs)
      yield await away(selling, awayMs, 'and restarted empty', killed)
    for (const awayMs of size.awayMs.slice(-1))
      yield await away(selling, awayMs, 'and back with its data (SIGSTOP)', frozen)
    yield await goneForGood(selling, size.forGoodMs)
  } finally {
    await selling.close()
  }
}

async function away(
  selling: SellingCluster,
  awayMs: number,
  how: string,
  { go, comeBack }: { readonly go: () => Promise<void>; readonly comeBack: () => Promise<void> },
): Promise<ClusterLine> {
  const gateways = [selling.one, selling.other]
  const coins = await coinsOf(selling.one)
  await freshAfter(gateways, coins, systemClock.nowMs())
  const before = await received(selling.chain)
  await go()
  const calls = await buying(selling, awayMs)
  const comingMs = performance.now()
  await comeBack()
  const sinceMs = systemClock.nowMs()
  const returnedMs = performance.now() - comingMs
  const { firstMs, allMs } = await freshAfter(gateways, coins, sinceMs)
  const settled = Number(((await received(selling.chain)) - before) / PRICE)
  const isRight = isHonest(calls, settled)
  return {
    what: `broker away for ${seconds(awayMs)} ${how}: first document rendered after its return, at both gateways`,
    measured:
      `${seconds(firstMs)}, of all ${coins.length} coins ${seconds(allMs)} ` +
      `(the broker itself took ${seconds(returnedMs)}); meanwhile ${outcomes(calls)}, ${settled} settled`,
    bar: `${FRESH_MS_MAX / 1_000} s`,
    isMet: isRight && firstMs <= FRESH_MS_MAX,
    isWrong: !isRight,
  }
}

async function goneForGood(selling: SellingCluster, forMs: number): Promise<ClusterLine> {
  const before = await received(selling.chain)
  await freshAfter([selling.one, selling.other], await coinsOf(selling.one), systemClock.nowMs())
  await selling.cluster.broker.kill()
  const calls = await buying(selling, forMs)
  const settled = Number(((await received(selling.chain)) - before) / PRICE)
  const lastSaleMs = Math.max(0, ...calls.filter(isSold).map(({ atMs }) => atMs))
  const isRight = isHonest(calls, settled) && lastSaleMs <= LAST_SALE_MS_MAX && !calls.every(isSold)
  return {
    what: `broker gone for good, seen for ${seconds(forMs)}`,
    measured: `last sale after ${seconds(lastSaleMs)}; ${outcomes(calls)}, ${settled} settled`,
    bar: `no sale after ${LAST_SALE_MS_MAX / 1_000} s, 0 refused ones charged`,
    isMet: isRight,
    isWrong: !isRight,
  }
}

/** `atMs`: begin of the call, since the broker went. */
type Call = { readonly atMs: number; readonly reply: Reply }

/** Buys at both gateways in turns. */
async function buying(
  { chain, one, other }: SellingCluster,
  forMs: number,
): Promise<readonly Call[]> {
  const sinceMs = performance.now()
  const calls: Promise<Call>[] = []
  while (performance.now() - sinceMs < forMs) {
    const gateway = calls.length % 2 === 0 ? one : other
    const payment = await newPayment({ chain })
    const atMs = performance.now() - sinceMs
    calls.push(buy(gateway, payment).then((reply) => ({ atMs, reply })))
    await wait(Math.min(BUY_PERIOD_MS, Math.max(0, forMs - (performance.now() - sinceMs))))
  }
  return Promise.all(calls)
}

function isSold({ reply }: Call): boolean {
  return reply.status === 200
}

/** What was refused is not charged, and what was sold is charged once. */
function isHonest(calls: readonly Call[], settled: number): boolean {
  const refused = calls.filter((call) => !isSold(call))
  return (
    refused.every(({ reply }) => refusedBy(reply).charged === false) &&
    settled === calls.length - refused.length
  )
}

function outcomes(calls: readonly Call[]): string {
  const sold = calls.filter(isSold)
  const agesSeconds = sold.map(({ reply }) =>
    Number(/"data_age_seconds":([\d.]+)/.exec(reply.text)?.[1]),
  )
  const refused = calls.filter((call) => !isSold(call))
  const reasons = refused.map(({ reply }) => {
    const { code, charged } = refusedBy(reply)
    return `${reply.status} ${code} (charged: ${charged})`
  })
  return `${sold.length} sold with data of at most ${Math.max(0, ...agesSeconds).toFixed(1)} s, ${counted(reasons) || '0 refused'}`
}

/** History is loaded coin by coin. */
async function allListed(gateway: Seller): Promise<void> {
  let count = 0
  await until('no further coin appears', async () => {
    await wait(LISTED_MS)
    const before = count
    count = (await coinsOf(gateway)).length
    return count > 0 && count === before
  })
}

async function coinsOf({ url }: Seller): Promise<readonly string[]> {
  const { coins } = (await (await fetch(`${url}/coins`)).json()) as { coins: readonly string[] }
  return coins
}

/** Milliseconds until both gateways offer a later rendering: of any coin, and of every coin. */
async function freshAfter(
  gateways: readonly Seller[],
  coins: readonly string[],
  sinceMs: number,
): Promise<{ readonly firstMs: number; readonly allMs: number }> {
  const times = await Promise.all(
    gateways.map(async (gateway) => {
      let firstMs = Number.NaN
      const waiting = new Set(coins)
      await until('every document is newer', async () => {
        for (const coin of waiting) {
          if ((await renderedAtMs(gateway, coin)) <= sinceMs) continue
          waiting.delete(coin)
          if (Number.isNaN(firstMs)) firstMs = systemClock.nowMs() - sinceMs
        }
        await wait(POLL_MS)
        return waiting.size === 0
      })
      return { firstMs, allMs: systemClock.nowMs() - sinceMs }
    }),
  )
  return {
    firstMs: Math.max(...times.map(({ firstMs }) => firstMs)),
    allMs: Math.max(...times.map(({ allMs }) => allMs)),
  }
}

/** Of the offered answer, as its quote states it; 0 if nothing is offered. */
async function renderedAtMs({ url }: Seller, coin: string): Promise<number> {
  const reply = await fromElsewhere()(`${url}/pulse/${coin}`)
  await reply.arrayBuffer()
  const quote = reply.headers.get('payment-required')
  if (reply.status !== 402 || quote === null) return 0
  const { extensions } = JSON.parse(Buffer.from(quote, 'base64').toString()) as {
    readonly extensions?: {
      readonly 'answer-preview'?: { readonly info: { readonly snapshot_id: string } }
    }
  }
  const id = extensions?.['answer-preview']?.info.snapshot_id
  return id === undefined ? 0 : Number.parseInt(id.replace('snp_', ''), 36)
}
