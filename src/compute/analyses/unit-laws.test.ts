import { describe, expect, test } from 'vitest'
import { naiveOpenInterest } from '../../../test/golden/naive-open-interest.ts'
import { naiveScreener } from '../../../test/golden/naive-screener.ts'
import { naiveCoins, naiveSentiment } from '../../../test/golden/naive-sentiment.ts'
import { fillDocument } from '../../api/fill-document.ts'
import { documentKey, viewsOf, WHOLE_MARKET } from '../../domain/document.ts'
import type { Batch, MarketEvent } from '../../domain/event.ts'
import { renderMarket } from '../../workers/market-worker.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { randomMarket } from '../testing/random-market.ts'
import { numericFields } from '../testing/schema-fields.ts'
import { NOW_MS } from '../testing/tape.ts'
import { analyses } from './registry.ts'

/** HIP-3: what the prices, sizes in money and notionals of a dex are in is its collateral token. */
const COIN = 'flx:GOLD'
const COINS = 'BTC ETH SOL HYPE XRP DOGE kPEPE kBONK SUI LINK AVAX'.split(' ').concat(COIN)
const TOKEN = 5
const USDC_PRICE = 0.9
const AGE_MS = 30_000
const READ_MS = NOW_MS + AGE_MS

type Body = Record<string, unknown>
type Answers = ReadonlyMap<string, Body>

const priced = answersOf([...inToken(randomMarket(COINS, 7)), [prices(USDC_PRICE)]])
/** The same prices in a dex whose collateral is USDC. */
const atPar = answersOf(inToken(randomMarket(COINS, 7), 0))
/** The same market in USDC: every price of the coin is nine tenths. */
const inUsdc = answersOf(inToken(scaled(randomMarket(COINS, 7)), 0))
const unpriced = answersOf([...inToken(randomMarket(COINS, 7)), [prices(null)]])

/** Those with sizes of orders in USD, and those that need exchanges, which list no such coin. */
const notProportional = new Set(['spread', 'bundle', 'basis', 'cex-dex'])
const inUsd = analyses.coin
  .map(({ contract }) => contract)
  .filter(({ document }) =>
    numericFields(document).some(({ path }) => !isOfDex(path) && isUsd(path)),
  )
  .map(({ id }) => id)
  .filter((id) => !notProportional.has(id))

describe('a coin whose collateral trades at 0.90 USDC', () => {
  test.each(inUsd)(
    '/%s has nine tenths of every figure in USD at par, and every other figure',
    (id) => {
      const [body, par] = [coinBody(priced, id), coinBody(atPar, id)]
      const [found, expected] = [leaves(body), leaves(par)]
      let dollars = 0
      for (const [path, value] of found) {
        if (isOfDex(path) || isOfMarket(path)) continue
        if (!isUsd(path)) {
          expect(value, path).toEqual(expected.get(path))
          continue
        }
        dollars += 1
        const par = Number(expected.get(path))
        expect(Math.abs(Number(value) - USDC_PRICE * par), path).toBeLessThanOrEqual(1 + 1e-6 * par)
      }
      expect(dollars, 'figures in USD').toBeGreaterThan(0)
    },
  )

  test('/spread costs what it costs in the same market in USDC', () => {
    const [found, expected] = [coinBody(priced, 'spread'), coinBody(inUsdc, 'spread')]
    const ofSizes = (body: Body) =>
      [...leaves(body)].filter(
        ([path]) => !/\.(dex|timestamp)|price|best_|impact_(bid|ask)|calibration/.test(path),
      )
    expect(ofSizes(found).map(([path]) => path)).toEqual(ofSizes(expected).map(([path]) => path))
    for (const [at, [path, value]] of ofSizes(found).entries()) {
      const other = ofSizes(expected)[at]?.[1]
      if (typeof value !== 'number') expect(value, path).toEqual(other)
      else expect(value, path).toBeCloseTo(Number(other), 1)
    }
    expect(leaves(found).get('.spread.calibration.notional_usd_min')).toBe(900)
  })

  test('open interest is the contracts times the mark times 0.90, by hand', () => {
    const { price, oi } = coinBody(priced, 'oi') as {
      price: number
      oi: { current: number; notional_usd: number }
    }
    // To the cent.
    expect(oi.notional_usd).toBeCloseTo(oi.current * price * 0.9, 1)
  })

  test.each(['screener', 'sentiment', 'correlation'])(
    '/%s ranks, weighs and sums as in the same market in USDC',
    (id) => {
      const keys = [...priced.keys()].filter((key) => key.startsWith(`${id}/`))
      expect(keys.length).toBeGreaterThan(0)
      for (const key of keys) {
        const [found, expected] = [priced.get(key), inUsdc.get(key)].map((body) =>
          leaves(withoutPrices(body ?? {})),
        )
        expect([...(found?.keys() ?? [])], key).toEqual([...(expected?.keys() ?? [])])
        for (const [path, value] of found ?? []) {
          const other = expected?.get(path)
          if (typeof value !== 'number') expect(value, `${key}${path}`).toEqual(other)
          else
            expect(Math.abs(value - Number(other)), `${key}${path}`).toBeLessThanOrEqual(
              1 + 1e-6 * Math.abs(value),
            )
        }
      }
    },
  )

  test('shows the quote unit, its conversion factor and the age of that', () => {
    expect(coinBody(priced, 'oi')).toMatchObject({
      dex: {
        name: 'flx',
        quote_unit: 'USDE',
        usd_per_quote_unit: USDC_PRICE,
        usd_source: 'venue_spot',
        usd_age_seconds: AGE_MS / 1_000,
        usd_pair_volume_24h_usd: 2e6,
        reference_price: 'deployer_oracle',
        session_hours: null,
      },
    })
    for (const id of ['pulse', 'spread', 'funding', 'liquidations'])
      expect(coinBody(priced, id)['dex'], id).toEqual(coinBody(priced, 'oi')['dex'])
    expect(coinBody(priced, 'oi', 'BTC')).not.toHaveProperty('dex')
  })

  test('an expired price converts nothing', () => {
    const processor = fed([...inToken(randomMarket(COINS, 7)), [prices(USDC_PRICE)]])
    const late = published(processor, NOW_MS + 600_001)
    expect(leaves(late.get(`oi/${COIN}`) ?? {}).get('.oi.notional_usd')).toBeNull()
  })
})

describe('the naive twins', () => {
  const log = [...inToken(randomMarket(COINS, 7)), [prices(USDC_PRICE)]].flat()

  test.each(COINS)('agree on open interest and volume of %s', (coin) => {
    const { oi } = coinBody(priced, 'oi', coin) as { oi: Record<string, number> }
    const { oi: twin } = naiveOpenInterest(log, coin) as { oi: Record<string, number> }
    expect(oi['notional_usd'], 'open').toBeCloseTo(twin['notional_usd'] ?? Number.NaN, 1)
    expect(oi['share_pct'], 'share').toBeCloseTo(twin['share_pct'] ?? Number.NaN, 3)
    const { coins } = priced.get(`screener/${WHOLE_MARKET}?full,50`) as { coins: Body[] }
    const row = coins.find((one) => one['coin'] === coin)
    const volume = naiveScreener(log).rows.get(coin)?.volume_24h_usd
    expect(row?.['volume_24h_usd']).toBeCloseTo(Math.round(volume ?? Number.NaN), 0)
  })

  test('agree on the sentiment of the market', () => {
    const { sentiment } = priced.get(`sentiment/${WHOLE_MARKET}?scores`) as {
      sentiment: { score: number }
    }
    expect(sentiment.score).toBeCloseTo(naiveSentiment(naiveCoins(log), null).score / 100, 2)
  })
})

describe('a coin whose collateral has no price', () => {
  test.each([...inUsd, 'spread'])('/%s has null for all USD, and says so', (id) => {
    const body = coinBody(unpriced, id)
    const { meta, ...figures } = body
    const dollars = [...leaves(figures)].filter(
      ([path]) => isUsd(path) || /_usd_min$|slippage_\d+k|liquidity_/.test(path),
    )
    expect(dollars.length).toBeGreaterThan(0)
    for (const [path, value] of dollars) expect(value, path).toBeNull()
    expect(meta).toMatchObject({
      warnings: expect.arrayContaining(['collateral_unpriced']),
    })
    expect(body['dex']).toMatchObject({ quote_unit: 'USDE', usd_per_quote_unit: null })
  })

  test('is in no share, and its sector has no total', () => {
    expect(leaves(coinBody(unpriced, 'oi')).get('.oi.share_pct')).toBeNull()
    const shares = COINS.map((coin) =>
      Number(leaves(coinBody(unpriced, 'oi', coin)).get('.oi.share_pct')),
    )
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(100, 2)
    const { sentiment } = unpriced.get(`sentiment/${WHOLE_MARKET}?TradFi`) as {
      sentiment: { sectors: Body[] }
    }
    expect(sentiment.sectors).toMatchObject([{ sector: 'TradFi', oi_usd: null }])
  })

  test('has a row in the screener without figures in USD', () => {
    const { coins } = unpriced.get(`screener/${WHOLE_MARKET}?full,50`) as {
      coins: Body[]
    }
    expect(coins.find(({ coin }) => coin === COIN)).toMatchObject({
      quote_unit: 'USDE',
      oi_notional_usd: null,
      volume_24h_usd: null,
    })
    expect(coins.find(({ coin }) => coin === 'BTC')).not.toHaveProperty('quote_unit')
  })
})

function prices(usdcPrice: number | null): MarketEvent {
  return {
    kind: 'collateral-prices',
    tokens: [{ token: TOKEN, name: 'USDE', usdcPrice, dayNotionalUsd: 2e6 }],
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
  }
}

/** Listed on a dex with that collateral. */
function inToken(tape: readonly Batch[], collateralToken = TOKEN): Batch[] {
  return tape.map((batch) =>
    batch.map((event) =>
      event.kind === 'universe'
        ? {
            ...event,
            listings: event.listings.map((listing) =>
              listing.coin === COIN ? { ...listing, collateralToken } : listing,
            ),
          }
        : event,
    ),
  )
}

/** All that is a price, or an amount of money, of the coin at nine tenths. */
function scaled(tape: readonly Batch[]): Batch[] {
  const isMoney =
    /^(markPrice|oraclePrice|midPrice|impactBid|impactAsk|dayNotional|prevDayPrice|open|high|low|close|price)$/
  const nineTenths = (value: unknown, name = ''): unknown => {
    if (typeof value === 'number') return isMoney.test(name) ? value * USDC_PRICE : value
    if (Array.isArray(value)) return value.map((one) => nineTenths(one))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, nineTenths(member, key)]),
    )
  }
  return tape.map((batch) =>
    batch.map((event) =>
      'coin' in event && event.coin === COIN ? (nineTenths(event) as MarketEvent) : event,
    ),
  )
}

function fed(tape: readonly Batch[]): Processor {
  const processor = new Processor(analyses, '0.0.0')
  for (const batch of tape) processor.process(batch)
  return processor
}

function answersOf(tape: readonly Batch[]): Answers {
  return published(fed(tape), READ_MS)
}

function published(processor: Processor, nowMs: number): Answers {
  const facts = { nowMs, executionMs: 0, coinsAvailable: COINS.length }
  const documents = []
  for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
    documents.push(...processor.publish(nowMs))
  for (const { contract } of analyses.market)
    documents.push(renderMarket(processor.gather(contract.id, nowMs)))
  const bodies = new Map<string, Body>()
  for (const document of documents)
    for (const [view, answer] of Object.entries(viewsOf(document))) {
      if (answer.kind !== 'answer') continue
      const body = JSON.parse(fillDocument(document, answer, facts).toString('utf8'))
      bodies.set(`${document.key}${view && `?${view}`}`, body)
    }
  return bodies
}

function coinBody(answers: Answers, id: string, coin = COIN): Body {
  const view = [...analyses.coin].find(({ contract }) => contract.id === id)?.contract.defaultView
  const body = answers.get(`${documentKey(id, coin)}${view && `?${view}`}`)
  if (body === undefined) throw new Error(`no answer of ${id} about ${coin}`)
  return body
}

function isUsd(path: string): boolean {
  return /_usd(_\d+[hdm])?(\.|$)|_notional$|\.open_interest$/.test(path)
}

function isOfDex(path: string): boolean {
  return /^\.?dex\./.test(path)
}

/** What is of all coins together is not the coin's own. */
function isOfMarket(path: string): boolean {
  return /^\.meta\.|share_pct$|^\.regime\./.test(path) && !path.includes('zones')
}

/** Without what differs: names of the rendering, and prices of the one coin. */
function withoutPrices({ meta: _, ...body }: Body): Body {
  const { coins, ...rest } = body as { coins?: Body[] }
  if (!Array.isArray(coins)) return body
  const shown = coins.map((row) => {
    if (row['coin'] !== COIN) return row
    const { price: _price, quote_unit: _unit, ...others } = row
    return others
  })
  return { ...rest, coins: shown }
}

function leaves(value: unknown, path = ''): Map<string, unknown> {
  const found = new Map<string, unknown>()
  if (typeof value !== 'object' || value === null) return found.set(path, value)
  for (const [name, member] of Object.entries(value))
    for (const [inner, leaf] of leaves(member, `${path}.${name}`)) found.set(inner, leaf)
  return found
}
