import assert from 'node:assert/strict'
import autocannon from 'autocannon'
import type { PrivateKeyAccount } from 'viem/accounts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { EvmChain } from '../src/simulator/evm/evm-chain.ts'
import { startEvmChain } from '../src/simulator/evm/evm-chain.ts'
import type { ClusterProcess } from '../test/support/cluster.ts'
import { buildCluster } from '../test/support/cluster.ts'
import { PRICE } from '../test/support/killed-sales.ts'
import type { PostgresServer } from '../test/support/postgres.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { until } from '../test/support/service.ts'
import { buy, inParallel, wait } from './cluster-buyers.ts'
import type { ClusterLine } from './cluster-line.ts'
import { quantile } from './cluster-line.ts'
import { familyCpuMicroseconds, gatewayCpuMicroseconds } from './cluster-process-cpu.ts'
import { quotes, sellingFlags } from './cluster-selling.ts'

const GATEWAYS = 3
/** Few, so that following the market is a small part of the CPU; that part is measured and subtracted. */
const COINS = ['--coins', '5']
const CONNECTIONS = 10
const BUYERS_PER_GATEWAY = 6
/**
 * Between two sales of one gateway: gateways are added when sales grow, so every candidate has the same load per gateway.
 * As many as the machine can sell would give each of three gateways a third, and fewer sales a transaction.
 */
const SALE_EVERY_MS = 200
const IDLE_MS = 1_500
const RATIO_MAX = 1.1

export type CpuSize = {
  readonly rounds: number
  readonly warmUpReads: number
  /** In a round, of each gateway: a shorter run would weigh its connections and its first reads more. */
  readonly reads: number
  readonly warmUpSales: number
  readonly sales: number
}

/** CPU of a gateway per request, of `--role all` and of three gateways; rounds of the candidates are interleaved. */
export async function* cpuLines(size: CpuSize): AsyncGenerator<ClusterLine> {
  yield await readLine(size)
  yield await saleLine(size)
}

async function readLine({ rounds, warmUpReads, reads }: CpuSize): Promise<ClusterLine> {
  const cluster = await buildCluster({
    ...{ engines: 1, gateways: GATEWAYS, coins: COINS },
    services: [{ flags: ['--payment', 'open'], env: {} }],
  })
  try {
    const { engines, services, gateways } = cluster
    for (const one of [...engines, ...services, ...gateways]) await one.start()
    for (const { url } of [...services, ...gateways])
      await until('it answers', async () => (await fetch(`${url}/pulse/BTC`)).ok)
    for (const { url } of [...services, ...gateways]) await read(url, warmUpReads)
    const costs = { all: [] as number[], three: [] as number[] }
    for (let round = 0; round < rounds; round += 1) {
      costs.all.push(await readCost(services, reads))
      costs.three.push(await readCost(gateways, reads))
    }
    const [all, three] = [quantile(costs.all, 0.5), quantile(costs.three, 0.5)]
    const least = [costs.all, costs.three].map((values) => Math.min(...values).toFixed(1))
    return {
      what: 'CPU of a read: --role all / three gateways',
      measured: `${all.toFixed(1)} / ${three.toFixed(1)} µs, ratio ${(three / all).toFixed(2)}; medians of ${rounds} rounds of ${reads}, minima ${least.join(' / ')} µs`,
      bar: `<= ${RATIO_MAX}`,
      isMet: three / all <= RATIO_MAX,
    }
  } finally {
    await cluster.close()
  }
}

/** Each gateway in turns, so that each has the same share of the machine. @returns microseconds per read */
async function readCost(gateways: readonly ClusterProcess[], reads: number): Promise<number> {
  let microseconds = 0
  for (const gateway of gateways) {
    const cpu = () => gatewayCpuMicroseconds(gateway.pid())
    const [used = 0] = await aboveIdle([cpu], () => read(gateway.url, reads))
    microseconds += used
  }
  return microseconds / (reads * gateways.length)
}

async function read(url: string, amount: number): Promise<void> {
  const result = await autocannon({ url: `${url}/pulse/BTC`, amount, connections: CONNECTIONS })
  const { errors, timeouts, statusCodeStats } = result
  assert.equal(
    result['2xx'],
    amount,
    `every read is answered: ${JSON.stringify({ errors, timeouts, statusCodeStats })}`,
  )
}

/** Gateways of one candidate with the account that pays their gas. */
type Candidate = {
  readonly gateways: readonly ClusterProcess[]
  readonly gasAccount: string
  readonly costs: SaleCost[]
}

/** Per sale, microseconds. */
type SaleCost = {
  readonly gateway: number
  readonly postgres: number
  readonly salesPerTransaction: number
}

async function saleLine({ rounds, warmUpSales, sales }: CpuSize): Promise<ClusterLine> {
  const cleanups: (() => Promise<unknown>)[] = []
  try {
    const chain = await startEvmChain({ clock: systemClock })
    cleanups.push(() => chain.close())
    const postgres = await startPostgres({ isDurable: true })
    cleanups.push(() => postgres.close())
    const { facilitator, merchant, buyer } = chain.accounts
    const payTo = newBuyer().address
    const flags = sellingFlags(chain, payTo)
    const ledger = async () => ['--ledger', await postgres.createDatabase()]
    const gasKey = ({ privateKey }: { privateKey: string }) => ({
      PERPSCOPE_FACILITATOR_KEY: privateKey,
    })
    const cluster = await buildCluster({
      ...{ engines: 1, gateways: GATEWAYS, coins: COINS },
      ...{ gatewayFlags: [...flags, ...(await ledger())], gatewayEnv: gasKey(facilitator) },
      services: [
        { flags, env: gasKey(merchant) },
        { flags: [...flags, ...(await ledger())], env: gasKey(buyer) },
      ],
    })
    cleanups.push(() => cluster.close())
    const { engines, services, gateways } = cluster
    for (const one of [...engines, ...services, ...gateways]) await one.start()
    for (const one of [...services, ...gateways]) await quotes(one)
    const candidates: readonly Candidate[] = [
      { gateways: services.slice(0, 1), gasAccount: merchant.address, costs: [] },
      { gateways: services.slice(1), gasAccount: buyer.address, costs: [] },
      { gateways, gasAccount: facilitator.address, costs: [] },
    ]
    const market: SaleMarket = { chain, postgres, payTo, wallet: newBuyer() }
    const total = candidates.length * (rounds * sales + GATEWAYS * warmUpSales)
    await chain.fundUsdc(market.wallet.address, PRICE * BigInt(total))
    for (const candidate of candidates)
      await sellAtOnce(
        market,
        candidate.gateways,
        await signed(market, candidate.gateways.length * warmUpSales),
      )
    for (let round = 0; round < rounds; round += 1)
      for (const candidate of candidates)
        candidate.costs.push(await saleCost(market, candidate, sales))
    return lineOfSales(candidates, rounds, sales)
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }
}

function lineOfSales(candidates: readonly Candidate[], rounds: number, sales: number): ClusterLine {
  const medians = (of: (cost: SaleCost) => number) =>
    candidates.map(({ costs }) => quantile(costs.map(of), 0.5))
  const [file = 0, all = 0, three = 0] = medians(({ gateway }) => gateway)
  const least = candidates
    .map(({ costs }) => ms(Math.min(...costs.map(({ gateway }) => gateway))))
    .join(' / ')
  const [, serverOfAll = 0, serverOfThree = 0] = medians(({ postgres }) => postgres)
  const batches = medians(({ salesPerTransaction }) => salesPerTransaction)
  return {
    what: 'CPU of a paid call: --role all with a file / with PostgreSQL / three gateways with PostgreSQL',
    measured: [
      `${ms(file)} / ${ms(all)} / ${ms(three)} ms, three gateways to one with the same ledger ${(three / all).toFixed(2)}`,
      `PostgreSQL adds ${ms(all - file)} ms to the gateway, and its server uses ${ms(serverOfAll)} / ${ms(serverOfThree)} ms`,
      `${batches.map((batch) => batch.toFixed(1)).join(' / ')} sales a transaction`,
      `a sale every ${SALE_EVERY_MS} ms at each gateway, medians of ${rounds} rounds of ${sales}, minima ${least} ms`,
    ].join('; '),
    bar: `<= ${RATIO_MAX}`,
    isMet: three / all <= RATIO_MAX,
  }
}

type SaleMarket = {
  readonly chain: EvmChain
  readonly postgres: PostgresServer
  readonly payTo: `0x${string}`
  readonly wallet: PrivateKeyAccount
}

async function saleCost(
  market: SaleMarket,
  { gateways, gasAccount }: Candidate,
  sales: number,
): Promise<SaleCost> {
  const payments = await signed(market, sales)
  const before = await transactionsOf(market.chain, gasAccount)
  const [gateway = 0, postgres = 0] = await aboveIdle(
    [
      () => gateways.reduce((sum, one) => sum + gatewayCpuMicroseconds(one.pid()), 0),
      () => familyCpuMicroseconds(market.postgres.pid()),
    ],
    () => sellAtTimes(market, gateways, payments),
  )
  const transactions = (await transactionsOf(market.chain, gasAccount)) - before
  return {
    gateway: gateway / sales,
    postgres: postgres / sales,
    salesPerTransaction: sales / transactions,
  }
}

/** Payments of one wallet, which are valid for two minutes. */
function signed({ payTo, wallet }: SaleMarket, count: number): Promise<readonly string[]> {
  const choices = { amount: PRICE, payTo, nowMs: systemClock.nowMs() }
  return Promise.all(
    Array.from({ length: count }, async () => encodedPayment(await signedPayload(wallet, choices))),
  )
}

/** As fast as the buyers of each gateway can. */
function sellAtOnce(
  market: SaleMarket,
  gateways: readonly ClusterProcess[],
  payments: readonly string[],
): Promise<void> {
  return allSettled(market, payments.length, () =>
    inParallel(BUYERS_PER_GATEWAY * gateways.length, payments.length, (at) =>
      sell(gateways, payments, at),
    ),
  )
}

/** At each gateway every {@link SALE_EVERY_MS}, whether or not the sales before have ended. */
function sellAtTimes(
  market: SaleMarket,
  gateways: readonly ClusterProcess[],
  payments: readonly string[],
): Promise<void> {
  return allSettled(market, payments.length, async () => {
    await Promise.all(
      payments.map(async (_, at) => {
        await wait((SALE_EVERY_MS * at) / gateways.length)
        await sell(gateways, payments, at)
      }),
    )
  })
}

async function sell(
  gateways: readonly ClusterProcess[],
  payments: readonly string[],
  at: number,
): Promise<void> {
  const gateway = gateways[at % gateways.length] as ClusterProcess
  const { status, text } = await buy(gateway, payments[at] ?? '')
  assert.equal(status, 200, text)
}

async function allSettled(
  { chain, payTo }: SaleMarket,
  count: number,
  sales: () => Promise<void>,
): Promise<void> {
  const before = await chain.balanceOf(payTo)
  await sales()
  const settled = ((await chain.balanceOf(payTo)) - before) / PRICE
  assert.equal(settled, BigInt(count), 'every sale is settled once')
}

/** Used by `work` beyond what the same processes use while they only follow the market. */
async function aboveIdle(
  clocks: readonly (() => number)[],
  work: () => Promise<void>,
): Promise<readonly number[]> {
  const used = async (during: () => Promise<void>) => {
    const before = clocks.map((clock) => clock())
    const sinceMs = performance.now()
    await during()
    const tookMs = performance.now() - sinceMs
    return { tookMs, microseconds: clocks.map((clock, at) => clock() - (before[at] ?? 0)) }
  }
  const idle = await used(() => wait(IDLE_MS))
  const busy = await used(work)
  return busy.microseconds.map(
    (all, at) => all - ((idle.microseconds[at] ?? 0) * busy.tookMs) / idle.tookMs,
  )
}

/** Number of transactions that the account has sent. */
async function transactionsOf({ rpcUrl }: EvmChain, account: string): Promise<number> {
  const params = [account, 'latest']
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getTransactionCount', params })
  const headers = { 'content-type': 'application/json' }
  const { result } = (await (await fetch(rpcUrl, { method: 'POST', headers, body })).json()) as {
    readonly result: string
  }
  return Number(result)
}

function ms(microseconds: number): string {
  return (microseconds / 1_000).toFixed(2)
}
