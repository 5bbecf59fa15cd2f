import { describe, expect, test } from 'vitest'
import { gatewayFixture, quotingGate } from '../../api/testing/gateway-fixture.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { keyOf, pathOf } from '../../domain/contract.ts'
import type { Document } from '../../domain/document.ts'
import { viewsOf } from '../../domain/document.ts'
import type { MarketEvent } from '../../domain/event.ts'
import { isExternal } from '../../domain/external.ts'
import { STORE_OK } from '../../link/testing/store-ok.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { poolEvents, rateEvents } from '../testing/chain-tape.ts'
import { externalEvents } from '../testing/external-events.ts'
import { NOW_MS, universe, warmTape } from '../testing/tape.ts'
import { analyses, contracts } from './registry.ts'

const COINS = ['BTC', 'ETH', 'SOL', 'XRP']
const COIN = 'BTC'
const UNIVERSE = universe(COINS)
const VENUE = COINS.flatMap((coin) => warmTape(coin).slice(1).flat())
const FEED = warmTape(COIN)[0]?.filter(({ kind }) => kind === 'feed-status') ?? []
/** Near what the coins of the tape cost. */
const USD = { ETH: 110, BTC: 110, USDC: 1 }
const EXTERNAL = [
  ...externalEvents(COIN, 110, NOW_MS),
  ...rateEvents(NOW_MS, USD),
  ...poolEvents(NOW_MS, () => 1, USD),
]
const MARKET = [...VENUE, ...EXTERNAL]

/** Events of an analysis exactly at its floor, and without the next item that it counts. */
type Floor = { readonly at: readonly MarketEvent[]; readonly below: readonly MarketEvent[] }

const floors: Readonly<Record<string, Floor>> = {
  pulse: { at: MARKET, below: without((event) => isOf(event, COIN, 'history')) },
  spread: { at: MARKET, below: MARKET.map((event) => oneSided(event)) },
  liquidations: { at: MARKET, below: without((event) => isOf(event, COIN, 'history')) },
  funding: { at: MARKET.map(hours(84)), below: MARKET.map(hours(0)) },
  oi: { at: MARKET, below: without((event) => isOf(event, COIN, 'sample-history')) },
  basis: { at: oracles(1), below: oracles(0) },
  'cex-dex': { at: exchanges(2), below: exchanges(1) },
  volatility: { at: MARKET, below: without((event) => isOf(event, COIN, 'history')) },
  bundle: { at: MARKET, below: MARKET.map((event) => oneSided(event)) },
  screener: { at: known(2), below: known(1) },
  correlation: { at: known(3), below: known(2) },
  arb: { at: onChains(5), below: onChains(4) },
  depeg: { at: [...VENUE, ...usdcBy('oracle-price')], below: VENUE },
  sentiment: { at: known(2), below: VENUE.filter((event) => isOf(event, COIN)) },
}

test('every analysis has its floor events', () => {
  const known = Object.keys(floors).toSorted()
  expect(
    known,
    'add to `floors` in floor-laws.test.ts the events at the coverage floor of the analysis, and below it: copy a row, and a helper at the end of the file that removes the counted item',
  ).toEqual(contracts.map(({ id }) => id).toSorted())
  for (const { coverageFloor } of contracts) {
    expect(coverageFloor.counts).not.toBe('')
    expect(coverageFloor.least).toMatch(/[^.]$/)
  }
})

test('no analysis can be registered without one', () => {
  const [{ coverageFloor: _, ...floorless } = {} as AnalysisContract] = contracts
  // @ts-expect-error a contract without a floor is no contract
  const refused: AnalysisContract = floorless
  expect(refused).not.toHaveProperty('coverageFloor')
})

describe.each(
  contracts.flatMap((contract) => (contract.id in floors ? { id: contract.id, contract } : [])),
)('$id', ({ id, contract }) => {
  const { at, below } = floors[id] ?? { at: [], below: [] }

  test('at its floor has an answer in every view, and below it in none', () => {
    expect(kindsOf(documentOf(contract, at)), 'at the floor').toEqual(['answer'])
    const document = documentOf(contract, below)
    expect(kindsOf(document), 'below the floor').toEqual(['low-coverage'])
    for (const view of Object.values(viewsOf(document))) {
      if (view.kind !== 'low-coverage') continue
      expect(view.missing).not.toBe('')
      expect(view.have).toBeLessThan(view.need)
    }
  })

  test('below its floor is neither quoted nor sold, and says missing data', async () => {
    const inject = gatewayOf(contract, documentOf(contract, below))
    for (const headers of [{}, { 'x-payment': 'anything' }]) {
      const response = await inject(headers)
      expect(response.statusCode).toBe(503)
      expect(response.headers['retry-after']).toMatch(/^\d+$/)
      const body = response.json()
      expect(body).toMatchObject({
        code: 'warming_up',
        // No ledger is asked here whether an earlier request charged the payment.
        charged: 'x-payment' in headers ? null : false,
        retryable: true,
        missing: expect.any(String),
        payment_reusable: 'x-payment' in headers,
      })
      expect(body.have).toBeLessThan(body.need)
      expect(body).toHaveProperty('ready_in_seconds')
      expect(body.ready_at_iso === null).toBe(body.ready_in_seconds === null)
    }
  })

  test('at its floor is quoted and sold', async () => {
    const inject = gatewayOf(contract, documentOf(contract, at))
    expect((await inject({})).statusCode).toBe(402)
    expect((await inject({ 'x-payment': 'anything' })).statusCode).toBe(200)
  })
})

function without(isGone: (event: MarketEvent) => boolean): readonly MarketEvent[] {
  return MARKET.filter((event) => !isGone(event))
}

function isOf(event: MarketEvent, coin: string, kind?: MarketEvent['kind']): boolean {
  return 'coin' in event && event.coin === coin && (kind ?? event.kind) === event.kind
}

function oneSided(event: MarketEvent): MarketEvent {
  return event.kind === 'book' && event.coin === COIN ? { ...event, asks: [] } : event
}

/** So many of the newest hours, and the first of the month, so that the coin is no young one. */
function hours(count: number) {
  return (event: MarketEvent): MarketEvent =>
    event.kind === 'funding-history'
      ? {
          ...event,
          rows: [...event.rows.slice(0, 1), ...event.rows.slice(event.rows.length - count)],
        }
      : event
}

function oracles(count: number): readonly MarketEvent[] {
  const networks = ['chainlink', 'pyth-hermes'].slice(0, count)
  return without(
    (event) =>
      event.kind === 'oracle-price' && event.asset === COIN && !networks.includes(event.network),
  )
}

function exchanges(count: number): readonly MarketEvent[] {
  const names = ['coinbase', 'kraken'].slice(0, count)
  return without(
    (event) =>
      event.kind === 'exchange-quote' && event.asset === COIN && !names.includes(event.exchange),
  )
}

/** So many coins have candles. */
function known(count: number): readonly MarketEvent[] {
  const coins = COINS.slice(0, count)
  return without((event) => event.kind === 'history' && !coins.includes(event.coin))
}

function onChains(count: number): readonly MarketEvent[] {
  const pools = EXTERNAL.filter((event) => event.kind === 'pool')
  const chains = [...new Set(pools.map(({ chain }) => chain))].slice(0, count)
  return without((event) => event.kind === 'pool' && !chains.includes(event.chain))
}

function usdcBy(kind: MarketEvent['kind']): readonly MarketEvent[] {
  return EXTERNAL.filter(
    (event) => event.kind === kind && 'asset' in event && event.asset === 'USDC',
  )
}

/** By an engine that received a second of the venue's events, and then of external sources. */
function documentOf(contract: AnalysisContract, events: readonly MarketEvent[]): Document {
  const processor = new Processor(analyses, '0.0.0')
  processor.process([UNIVERSE, ...FEED, ...events.filter((event) => !isExternal(event))])
  const external = events.filter(isExternal)
  if (external.length > 0) processor.process(external)
  const key = keyOf(contract, COIN)
  const documents: Document[] = []
  for (let round = 0; round < 10 * PUBLISH_PHASES; round += 1)
    documents.push(...[...processor.publish(NOW_MS)].filter((document) => document.key === key))
  const market = analyses.market.find((one) => one.contract.id === contract.id)
  if (market !== undefined) {
    const { gathered, rendering } = processor.gather(contract.id, NOW_MS)
    return market.render(gathered, rendering)
  }
  const newest = documents.at(-1)
  if (newest === undefined) throw new Error(`no document of ${key}`)
  return newest
}

function kindsOf(document: Document): readonly string[] {
  return [...new Set(Object.values(viewsOf(document)).map(({ kind }) => kind))]
}

function gatewayOf(contract: AnalysisContract, document: Document) {
  const { app, clock, deliver } = gatewayFixture({ contracts: [contract], payment: quotingGate })
  clock.advance(NOW_MS - clock.nowMs())
  if (UNIVERSE.kind === 'universe') deliver({ kind: 'universe', listings: UNIVERSE.listings })
  deliver({ kind: 'documents', documents: [document] })
  const heartbeat = { startedAtMs: NOW_MS, feeds: [], sources: [], store: STORE_OK, counts: {} }
  deliver({ kind: 'heartbeat', heartbeat })
  return (headers: Readonly<Record<string, string>>) =>
    app.inject({ url: pathOf(contract, COIN), headers })
}
