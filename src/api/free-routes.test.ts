import { describe, expect, test } from 'vitest'
import type { StoreHealth } from '../domain/history.ts'
import { ENGINE_SILENCE_MS_MAX, EngineReplica } from '../link/engine-replica.ts'
import { STORE_OK } from '../link/testing/store-ok.ts'
import { FEED_UP, gatewayFixture } from './testing/gateway-fixture.ts'
import { pulseLike } from './testing/pulse-like.ts'

type Fixture = ReturnType<typeof gatewayFixture>

describe('free paths', () => {
  test('list the coins with a default pulse', async () => {
    const { app } = gatewayFixture()
    const response = await app.inject('/coins')
    expect(response.json()).toEqual({
      coins: ['BTC', 'kPEPE'],
      count: 2,
      dexes: [],
      timestamp_iso: '2026-01-01T00:00:00.000Z',
    })
    expect(response.headers['cache-control']).toBe('public, max-age=60')
  })

  test('report a healthy service', async () => {
    const { app, clock } = gatewayFixture()
    clock.advance(1_500)
    const response = await app.inject('/health')
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.json()).toEqual({
      status: 'ok',
      engine: 'available',
      kill_switch: 'enabled',
      version: '0.1.0',
      feeds: [
        { feed: 'venue', state: 'up', since_iso: '1970-01-01T00:00:00.000Z', reason: 'connected' },
      ],
      dexes: [],
      store: {
        state: 'ok',
        since_iso: '1970-01-01T00:00:00.000Z',
        dropped_rows: 0,
        damaged_blocks: 0,
        set_aside_files: 0,
      },
      uptime_seconds: 1,
      since_iso: '2026-01-01T00:00:00.000Z',
    })
  })

  test('report that history is not written, without file names', async () => {
    const { app, engine, deliver } = gatewayFixture()
    const store: StoreHealth = {
      state: 'degraded',
      reason: 'the history /var/lib/x cannot be used',
      sinceMs: 0,
      droppedRows: 7,
      damagedBlocks: 2,
      setAsideFiles: 1,
    }
    deliver({
      kind: 'heartbeat',
      heartbeat: { startedAtMs: 0, feeds: [FEED_UP], sources: [], store, counts: {} },
    })
    const health = await app.inject('/health')
    expect(health.json()).toMatchObject({
      status: 'ok',
      store: { state: 'degraded', dropped_rows: 7, damaged_blocks: 2, set_aside_files: 1 },
    })
    expect(health.body).not.toContain('/var/lib')
    engine.disconnected()
    expect((await app.inject('/health')).json().store).toBeNull()
  })

  test('list every builder-deployed dex, and why one is not followed', async () => {
    const { app, engine, deliver } = gatewayFixture()
    const dex = { fullName: 'XYZ', quoteUnit: 'USDC', coins: 60, judgedAtMs: 0 }
    deliver({
      kind: 'heartbeat',
      heartbeat: {
        ...{ startedAtMs: 0, feeds: [FEED_UP], sources: [], store: STORE_OK, counts: {} },
        dexes: [
          {
            ...dex,
            name: 'xyz',
            isFollowed: true,
            reason: null,
            sharePct: 31.416,
            coinsLeftOut: 7,
          },
          {
            ...{ ...dex, name: 'odd', fullName: null, isFollowed: false, sharePct: null },
            ...{ reason: 'collateral_unpriced', quoteUnit: null, coinsLeftOut: 0 },
          },
        ],
      },
    })
    const listed = [
      {
        ...{ name: 'xyz', full_name: 'XYZ', followed: true, reason: null, share_pct: 31.42 },
        ...{ coins: 60, coins_left_out: 7, quote_unit: 'USDC', session_hours: null },
        ...{ reference_price: 'deployer_oracle', judged_iso: '1970-01-01T00:00:00.000Z' },
      },
      {
        ...{ name: 'odd', full_name: null, followed: false, reason: 'collateral_unpriced' },
        ...{ share_pct: null, coins: 60, coins_left_out: 0, quote_unit: null },
        ...{ session_hours: null, reference_price: 'deployer_oracle' },
        judged_iso: '1970-01-01T00:00:00.000Z',
      },
    ]
    expect((await app.inject('/coins')).json().dexes).toEqual(listed)
    expect((await app.inject('/health')).json()).toMatchObject({ status: 'ok', dexes: listed })
    engine.disconnected()
    expect((await app.inject('/health')).json().dexes).toEqual([])
  })

  test('report a feed as down without an engine', async () => {
    const { app, engine } = gatewayFixture()
    engine.disconnected()
    expect((await app.inject('/health')).json().feeds).toEqual([
      { feed: 'venue', state: 'down', since_iso: null, reason: 'engine unavailable' },
    ])
  })

  test.each([
    [
      'the engine is gone',
      { status: 'degraded', engine: 'unavailable' },
      ({ engine }: Fixture) => engine.disconnected(),
    ],
    [
      'the engine is silent',
      { status: 'degraded', engine: 'available' },
      ({ clock }: Fixture) => clock.advance(ENGINE_SILENCE_MS_MAX + 1),
    ],
    [
      'a feed is down',
      { status: 'degraded', engine: 'available' },
      ({ deliver }: Fixture) =>
        deliver({
          kind: 'heartbeat',
          heartbeat: {
            startedAtMs: 0,
            feeds: [{ ...FEED_UP, state: 'down' }],
            sources: [],
            store: STORE_OK,
            counts: {},
          },
        }),
    ],
  ] as const)('stay at 200 when %s', async (_title, expected, given) => {
    const fixture = gatewayFixture()
    given(fixture)
    const response = await fixture.app.inject('/health')
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject(expected)
    expect((await fixture.app.inject('/coins')).statusCode).toBe(200)
  })

  test('report an engine as unavailable if, and only if, paid paths answer 500', async () => {
    const engine = new EngineReplica({ analysis: 'pulse', view: pulseLike.defaultView })
    const { app } = gatewayFixture({ engine })
    const seen = async () => [
      (await app.inject('/health')).json().engine,
      (await app.inject('/pulse/BTC')).statusCode,
    ]
    expect((await app.inject('/health')).json().status).toBe('degraded')
    expect(await seen(), 'it starts').toEqual(['available', 503])
    engine.disconnected()
    expect(await seen()).toEqual(['unavailable', 500])
  })

  test('name every paid path with its price', async () => {
    const { app } = gatewayFixture()
    expect((await app.inject('/')).json().paid).toContainEqual({
      path: '/pulse/{coin}',
      summary: 'Multi-timeframe technical analysis',
      price_usdc: '0.025',
    })
  })
})
