import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fillDocument } from '../src/api/fill-document.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { documentKey, viewOf } from '../src/domain/document.ts'
import { SubscriptionPlan } from '../src/streams/hyperliquid/session/subscription-plan.ts'
import { venueChannels } from '../src/streams/hyperliquid/wire/channels.ts'
import { SimulatedService } from './support/simulated-service.ts'

const WARM_UP_SECONDS = 340
/** Replaces the day between two selections; each is confirmed after half of it. */
const PERIOD_MS = 40_000
/** The histories of a dex that is followed are loaded long before the next selection. */
const WEIGHT_PER_MINUTE = 10_000

/** Builder-deployed dexes (HIP-3): their coins have names with a colon, and some are on several of them. */
describe('a dex that is followed in addition to the main one', () => {
  let folder: string
  let service: SimulatedService

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-dexes-'))
    service = new SimulatedService({
      seed: 5,
      coins: 2,
      dataDir: folder,
      version: '1.2.3',
      dexes: ['flx'],
    })
    service.run(WARM_UP_SECONDS)
  })

  afterAll(() => {
    service.stop()
    rmSync(folder, { recursive: true })
  })

  test('lists its coins with its name, without delisted ones and those of other dexes', () => {
    const [first, second, ...others] = service.replica.listed
    expect([first, second]).toEqual(['BTC', 'ETH'])
    expect(others).toEqual(['flx:TSLA', 'flx:GOLD', 'flx:OIL'])
    expect(service.replica.coins()).toEqual(['BTC', 'ETH', 'flx:GOLD', 'flx:OIL', 'flx:TSLA'])
  })

  test.each(['flx:GOLD', 'FLX:GOLD', 'flx:gold', 'flx:GOLD-PERP'])('finds %s', (ticker) => {
    expect(service.replica.resolve(ticker)).toEqual({ coin: 'flx:GOLD' })
  })

  test.each(['GOLD', 'xyz:GOLD', 'flx:SILVER', 'flx:', ':GOLD', 'flx:BTC'])(
    'does not take %s for anything',
    (ticker) => {
      expect(service.replica.resolve(ticker)).toBeUndefined()
    },
  )

  test('does not hide a coin of that name on the main dex', () => {
    expect(service.replica.resolve('BTC')).toEqual({ coin: 'BTC' })
  })

  test.each(['pulse', 'spread', 'funding', 'oi', 'liquidations'])(
    '/%s answers about its coin',
    (id) => {
      const contract = contracts.find((one) => one.id === id)
      const document = service.replica.document(documentKey(id, 'flx:GOLD'))
      const answer = document && viewOf(document, contract?.defaultView ?? '')
      if (document === undefined || answer?.kind !== 'answer')
        throw new Error(`no answer: ${JSON.stringify(answer)}`)
      const text = fillDocument(document, answer, {
        nowMs: service.clock.nowMs(),
        executionMs: 0.1,
        coinsAvailable: 5,
      }).toString('utf8')
      expect(JSON.parse(text).coin).toBe('flx:GOLD')
    },
  )
})

/**
 * The default: dexes by their share. Of the simulated dexes `xyz` has a few percent of a small venue, `flx` and `hyna`
 * less than one; the collateral of `hyna` has no price.
 */
describe('dexes that are chosen by their share', () => {
  let folder: string
  let service: SimulatedService
  const activity = { xyz: 1, flx: 1 }
  type State = ReturnType<typeof stateOf>
  let states: Readonly<Record<'begun' | 'grown' | 'shrunk' | 'restarted' | 'back', State>>

  const start = (startMs?: number): SimulatedService =>
    new SimulatedService({
      ...{ seed: 5, coins: 2, dataDir: folder, version: '1.2.3' },
      ...(startMs !== undefined && { startMs }),
      dexes: 'auto',
      dexPeriodMs: PERIOD_MS,
      weightPerMinute: WEIGHT_PER_MINUTE,
      dexActivity: { xyz: () => activity.xyz, flx: () => activity.flx },
    })

  function stateOf({ replica, clock }: SimulatedService) {
    const nowMs = clock.nowMs()
    const answers = (coin: string) =>
      Object.fromEntries(
        contracts.map(({ id, defaultView }) => {
          const document = replica.document(documentKey(id, coin))
          const answer = document && viewOf(document, defaultView)
          if (document === undefined || answer?.kind !== 'answer') return [id, document ?? null]
          const facts = { nowMs, executionMs: 0, coinsAvailable: 5 }
          return [id, JSON.parse(fillDocument(document, answer, facts).toString('utf8'))]
        }),
      )
    return {
      reasons: Object.fromEntries(replica.dexes().map(({ name, reason }) => [name, reason])),
      listed: replica.listed,
      coins: replica.coins(),
      btc: answers('BTC'),
      xyz: answers('xyz:GOLD'),
      flx: answers('flx:GOLD'),
      resolved: replica.resolve('xyz:GOLD'),
    }
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'perpscope-dexes-'))
    service = start()
    service.run(40)
    const begun = stateOf(service)
    activity.flx = 1_000
    service.run(75)
    const grown = stateOf(service)
    activity.xyz = 1e-4
    service.run(85)
    const shrunk = stateOf(service)
    service.stop()
    service = start(service.clock.nowMs())
    service.run(1)
    const restarted = stateOf(service)
    activity.xyz = 1
    service.run(75)
    states = { begun, grown, shrunk, restarted, back: stateOf(service) }
  })

  afterAll(() => {
    service.stop()
    rmSync(folder, { recursive: true })
  })

  test('are followed from the start, and the others are listed with the reason', () => {
    const { reasons, coins, listed, xyz } = states.begun
    expect(reasons).toEqual({
      xyz: null,
      flx: 'share_below_minimum',
      hyna: 'collateral_unpriced',
    })
    expect(coins).toContain('xyz:GOLD')
    expect(listed.filter((coin) => coin.includes(':'))).toHaveLength(6)
    expect(xyz['pulse'].dex).toMatchObject({
      name: 'xyz',
      quote_unit: 'USDC',
      usd_per_quote_unit: 1,
    })
  })

  test('one that has grown is followed from the next selection on, in USD by its collateral price', () => {
    const { reasons, flx } = states.grown
    expect(reasons).toMatchObject({ xyz: null, flx: null })
    const { dex, derivatives } = flx['pulse']
    expect(dex).toMatchObject({ name: 'flx', quote_unit: 'USDH', usd_source: 'venue_spot' })
    expect(dex.usd_per_quote_unit).not.toBe(1)
    expect(dex.usd_age_seconds).toBeLessThan(90)
    const perContract = derivatives.open_interest / derivatives.open_interest_contracts
    const mark = perContract / dex.usd_per_quote_unit
    expect(mark / flx['pulse'].price.current).toBeCloseTo(1, 2)
  })

  test('one that has shrunk is removed with its documents, and nothing else', () => {
    const { reasons, resolved, xyz, btc, flx, coins } = states.shrunk
    expect(reasons).toMatchObject({ xyz: 'share_below_minimum', flx: null })
    expect(resolved, 'a ticker of it is 404').toBeUndefined()
    for (const [id, document] of Object.entries(xyz)) expect(document, id).toBeNull()
    expect(coins).toEqual(['BTC', 'ETH', 'flx:GOLD', 'flx:OIL', 'flx:TSLA'])
    for (const { pulse } of [btc, flx]) expect(pulse.meta.data_age_seconds).toBeLessThan(30)
  })

  test('a restart continues with the followed dexes, without the removed ones', () => {
    expect(states.restarted.listed.map((coin) => coin.replace(/:.*/, ''))).toEqual([
      ...['BTC', 'ETH'],
      ...['flx', 'flx', 'flx'],
    ])
    expect(states.restarted.flx['pulse'].coin).toBe('flx:GOLD')
  })

  test('one that has grown again is answered again', () => {
    expect(states.back.reasons).toMatchObject({ xyz: null, flx: null })
    for (const id of ['pulse', 'spread', 'funding', 'liquidations'])
      expect(states.back.xyz[id]?.coin, id).toBe('xyz:GOLD')
  })
})

test('a heartbeat counts the coins that the limit of subscriptions leaves out', () => {
  const folder = mkdtempSync(join(tmpdir(), 'perpscope-dexes-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const subscriptionsMax = 60
  const { coinsMax } = new SubscriptionPlan(1, venueChannels, subscriptionsMax)
  const options = { seed: 5, coins: 12, dataDir: folder, version: '1.2.3', subscriptionsMax }
  const service = new SimulatedService(options)
  service.run(30)
  service.stop()
  const { listed, heartbeat } = service.replica
  expect(listed.length).toBeGreaterThan(coinsMax)
  expect(heartbeat?.coinsLeftOut).toBe(listed.length - coinsMax)
})
