import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { Cluster, ClusterProcess } from '../test/support/cluster.ts'
import { buildCluster } from '../test/support/cluster.ts'
import { newPayment, PRICE } from '../test/support/killed-sales.ts'
import type { PostgresServer } from '../test/support/postgres.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { fromElsewhere, until } from '../test/support/service.ts'
import type { ClusterLine } from './cluster-line.ts'

const COPIES = 4
const RACES_AT_ONCE = 8
const POSTGRES_AWAY_MS = 1_000
const BUYERS = 50
const REPEAT_AFTER_MS = 200
const REPEATED_MS_MAX = 60_000

export type SalesSize = {
  readonly races: number
  readonly killedCalls: number
}

type Market = {
  readonly chain: EvmChain
  readonly postgres: PostgresServer
  readonly one: ClusterProcess
  readonly other: ClusterProcess
}

/** An answer, or why there is none. */
type Reply = { readonly status: number; readonly text: string }

/** Sales of two gateway processes that share a PostgreSQL ledger, while parts of it end. */
export async function* salesLines(size: SalesSize): AsyncGenerator<ClusterLine> {
  const cleanups: (() => Promise<unknown>)[] = []
  try {
    const chain = await startEvmChain({ clock: systemClock })
    cleanups.push(() => chain.close())
    const postgres = await startPostgres({ isDurable: true })
    cleanups.push(() => postgres.close())
    const cluster = await startCluster(chain, await postgres.createDatabase())
    cleanups.push(() => cluster.close())
    const [one, other] = cluster.gateways as [ClusterProcess, ClusterProcess]
    const market = { chain, postgres, one, other }
    yield await racedPayments(market, size.races)
    yield await killedGateway(market, size.killedCalls)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

async function startCluster(chain: EvmChain, ledger: string): Promise<Cluster> {
  const cluster = await buildCluster({
    engines: 1,
    gatewayFlags: [
      ...['--ledger', ledger, '--pay-to', chain.accounts.merchant.address],
      ...['--rpc-url', chain.rpcUrl, '--public-url', 'https://perpscope.example'],
      ...['--trust-proxy', 'loopback'],
    ],
    gatewayEnv: { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey },
  })
  try {
    for (const process of [...cluster.engines, ...cluster.gateways]) await process.start()
    for (const gateway of cluster.gateways) await quotes(gateway)
  } catch (cause) {
    await cluster.close()
    throw cause
  }
  return cluster
}

async function racedPayments(market: Market, races: number): Promise<ClusterLine> {
  const { chain, postgres, one, other } = market
  const before = await received(chain)
  let begun = 0
  let repeated = 0
  let answered = 0
  let different = 0
  const restart = (async () => {
    await until('a third has begun', async () => begun >= races / 3)
    await postgres.crash()
    await wait(POSTGRES_AWAY_MS)
    await postgres.start()
  })()
  await inParallel(RACES_AT_ONCE, races, async () => {
    const payment = await newPayment({ chain })
    begun += 1
    const copies = Array.from({ length: COPIES }, (_, at) => (at % 2 === 0 ? one : other))
    const replies = await Promise.all(
      copies.map(async (gateway) => {
        const reply = await buy(gateway, payment)
        if (reply.status === 200) return reply
        repeated += 1
        return await answerOf(gateway, payment)
      }),
    )
    if (replies.every(({ status }) => status === 200)) answered += 1
    if (new Set(replies.map(({ text }) => text)).size > 1) different += 1
  })
  await restart
  const settled = Number(((await received(chain)) - before) / PRICE)
  const isRight = answered === races && settled === races && different === 0
  return {
    what: `${races} payments, each at two gateways twice at once, PostgreSQL restarted in between`,
    measured: `${answered} answered, ${settled} settled, ${different} with different answers, ${repeated} of ${COPIES * races} calls repeated`,
    bar: `${races}, ${races}, 0`,
    isMet: isRight,
    isWrong: !isRight,
  }
}

async function killedGateway(market: Market, calls: number): Promise<ClusterLine> {
  const { chain, one, other } = market
  const before = await received(chain)
  let begun = 0
  let first = 0
  let afterOneRepeat = 0
  let afterMore = 0
  const kill = (async () => {
    await until('half has begun', async () => begun >= calls / 2)
    await one.stop('SIGKILL')
  })()
  await inParallel(BUYERS, calls, async () => {
    const payment = await newPayment({ chain })
    begun += 1
    const [gateway, alternative] = begun % 2 === 0 ? [one, other] : [other, one]
    if ((await buy(gateway, payment)).status === 200) first += 1
    else if ((await buy(alternative, payment)).status === 200) afterOneRepeat += 1
    else if ((await answerOf(other, payment)).status === 200) afterMore += 1
  })
  await kill
  const settled = Number(((await received(chain)) - before) / PRICE)
  await one.start()
  await quotes(one)
  const answered = first + afterOneRepeat + afterMore
  const isRight = answered === calls && settled === calls
  return {
    what: `a gateway SIGKILL in the middle of ${calls} paid calls of ${BUYERS} buyers`,
    measured: `${settled} settled, ${answered} answered: ${first} at once, ${afterOneRepeat} by one repetition at the other gateway, ${afterMore} by more`,
    bar: `${calls}, ${calls}, 0 by more`,
    isMet: isRight && afterMore === 0,
    isWrong: !isRight,
  }
}

type Seller = Pick<ClusterProcess, 'url'>

/** Repeats until the payment has its answer, for as long as it is valid. */
async function answerOf(gateway: Seller, payment: string): Promise<Reply> {
  const untilMs = performance.now() + REPEATED_MS_MAX
  let reply = await buy(gateway, payment)
  while (reply.status !== 200 && performance.now() < untilMs) {
    await wait(REPEAT_AFTER_MS)
    reply = await buy(gateway, payment)
  }
  return reply
}

/** @returns status 0 without a reply */
async function buy({ url }: Seller, payment: string): Promise<Reply> {
  const headers = { 'payment-signature': payment }
  try {
    const reply = await fromElsewhere()(`${url}/pulse/BTC`, { headers })
    return { status: reply.status, text: await reply.text() }
  } catch {
    return { status: 0, text: '' }
  }
}

async function quotes({ url }: Seller): Promise<void> {
  await until('it quotes', async () => (await fromElsewhere()(`${url}/pulse/BTC`)).status === 402)
}

function received(chain: EvmChain): Promise<bigint> {
  return chain.balanceOf(chain.accounts.merchant.address)
}

/** A payment is signed when it is needed, because it is valid for two minutes. */
async function inParallel(width: number, count: number, task: () => Promise<void>): Promise<void> {
  let begun = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      while (begun < count) {
        begun += 1
        await task()
      }
    }),
  )
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.after(ms, resolve)
  })
}
