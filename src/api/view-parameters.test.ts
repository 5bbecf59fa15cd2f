import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { contracts } from '../compute/analyses/registry.ts'
import { topNParameter, viewParameter } from '../compute/analyses/screener/screener-parameters.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import type { Document, View } from '../domain/document.ts'
import { documentKey, WHOLE_MARKET } from '../domain/document.ts'
import { expectProblem } from './testing/expect-problem.ts'
import { gatewayFixture, quotingGate } from './testing/gateway-fixture.ts'
import { layOut } from './testing/pulse-like.ts'

const scanLike: AnalysisContract = {
  id: 'screener',
  offering: 'service_screener',
  scope: 'market',
  summary: 'Scan of all coins',
  guide: { title: 'One', useWhen: 'needed.', notWhen: 'not.', returns: 'a figure.' },
  priceUsdcAtomic: 60_000n,
  document: Type.Object({}),
  defaultView: 'full,50',
  viewParameters: [viewParameter, topNParameter],
  inputAgeMsMax: 60_000,
  coverageFloor: { counts: 'coins', least: 'half of the coins' },
}

describe('several parameters', () => {
  test.each([
    ['/screener', 'full,50'],
    ['/screener?view=full&top_n=50', 'full,50'],
    ['/screener?view=Compact&top_n=2', 'compact,2'],
    ['/screener?utm_campaign=x&_=9', 'full,50'],
  ])('%s selects one view together', async (url, view) => {
    const response = await gateway().inject(url)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ view })
  })

  test.each([
    ['/screener?view=long', 'view', ['full', 'compact'], 'view must be one of full, compact.'],
    [
      '/screener?top_n=150',
      'top_n',
      ['1..100 with view=full', '1..200 with view=compact'],
      'top_n must be a whole number from 1 to 100, with view=compact to 200.',
    ],
    [
      '/screener?view=full&view=full',
      'view',
      ['full', 'compact'],
      'view may occur only once. view must be one of full, compact.',
    ],
  ])('%s is refused before any quote', async (url, param, allowed, detail) => {
    const response = await gateway().inject(url)
    expect(response.statusCode).toBe(400)
    const body = { code: 'invalid_parameter', param, allowed, detail, charged: false }
    expect(response.json()).toMatchObject(body)
  })

  test.each([
    ['/pulse/BTC?fields=timeframes.15m', '"timeframes.15m"', ': request it with timeframes=15m'],
    [
      '/pulse/BTC?timeframes=4h&fields=timeframes.1h',
      '"timeframes.1h"',
      ': request it with timeframes=1h',
    ],
    [
      '/pulse/BTC?view=compact&fields=meta.sources',
      '"meta.sources"',
      ': request it with view=full',
    ],
    ['/screener?view=compact&fields=coins.rsi_14', '"coins.rsi_14"', ': request it with view=full'],
    ['/sentiment?fields=sentiment.sectors', '"sentiment.sectors"', ': request it with bucket=all'],
    ['/bundle/BTC?fields=pulse.timeframes.15m', '"pulse.timeframes.15m"', ''],
    ['/sample/pulse?fields=timeframes.15m', '"timeframes.15m"', ''],
    [
      '/sample/screener?view=compact&fields=coins.rsi_14',
      '"coins.rsi_14"',
      ': request it with view=full',
    ],
  ])(
    '%s is refused before any quote, with the parameter that adds the member',
    async (url, member, advice) => {
      const { app } = gatewayFixture({ contracts, payment: quotingGate })
      const response = await app.inject(url)
      expectProblem(response, 400, 'invalid_parameter')
      expect(response.headers).not.toHaveProperty('payment-required')
      expect(response.json()).toMatchObject({
        param: 'fields',
        detail: `fields names ${member}, which is not in this answer${advice}.`,
        allowed: expect.arrayContaining(['meta']),
      })
    },
  )

  test.each([
    ['/screener?topn=5', 'topn', ['top_n']],
    ['/screener?lookback=9', 'lookback', []],
    ['/screener?Top_N=5', 'Top_N', ['top_n']],
    ['/screener?utm=x', 'utm', []],
    ['/screener?__proto__=1', '__proto__', []],
    ['/screener?=5', '', []],
  ])('%s is refused before any quote as unknown', async (url, param, meant) => {
    const response = await gateway().inject(url)
    expectProblem(response, 400, 'unknown_parameter')
    expect(response.json()).toMatchObject({
      param,
      allowed: ['view', 'top_n', 'fields'],
      did_you_mean: meant,
      charged: false,
    })
  })

  test('what only a sample has can be asked of a sample', async () => {
    const { statusCode, body } = await gatewayFixture({ contracts }).app.inject(
      '/sample/pulse?fields=meta.sample',
    )
    expect(statusCode, body).toBe(200)
    expect(JSON.parse(body).meta.sample).toBeDefined()
  })

  test('a long name is refused with a short detail', async () => {
    const response = await gateway().inject(`/screener?${'x'.repeat(8_000)}=1`)
    expectProblem(response, 400, 'unknown_parameter')
    expect(response.body.length).toBeLessThan(1_000)
  })

  test.each([
    ['/coins?limit=5', []],
    ['/sample/screener?top_n=5', ['view', 'fields']],
  ])('%s names a parameter that is not taken there', async (url, allowed) => {
    const { app } = gatewayFixture({ contracts: [scanLike] })
    const response = await app.inject(url)
    expectProblem(response, 400, 'unknown_parameter')
    expect(response.json()).toMatchObject({ allowed })
  })

  test('the index names a path without a coin', async () => {
    const { app } = gatewayFixture({ contracts: [scanLike] })
    expect((await app.inject('/')).json().paid[0].path).toBe('/screener')
  })

  test('a quote names every parameter', async () => {
    const asked: unknown[] = []
    const { app } = gatewayFixture({
      contracts: [scanLike],
      payment: (paid) => {
        paid.addHook('onRoute', ({ config }) => {
          asked.push(config?.x402?.discovery?.queryParams)
        })
        return quotingGate(paid)
      },
    })
    await app.ready()
    expect(asked[0]).toMatchObject({
      view: viewParameter.description,
      top_n: topNParameter.description,
      fields: expect.stringContaining('Fields to return'),
    })
  })

  test('coverage below the minimum: 503 with have and need', async () => {
    const view = { kind: 'low-coverage', missing: 'coins', have: 3, need: 5 } as const
    const response = await gateway(view).inject('/screener')
    expect(response.statusCode).toBe(503)
    expect(response.json()).toMatchObject({
      code: 'warming_up',
      detail:
        'Available coins: 3; required: 5. /screener requires half of the coins. Nothing was charged. Retry in 15 s.',
      missing: 'coins',
      have: 3,
      need: 5,
      retry_after: 15,
      ready_in_seconds: null,
      ready_at_iso: null,
    })
  })
})

/** Its answers name their view. */
function gateway(only?: View) {
  const { app, clock, deliver } = gatewayFixture({ contracts: [scanLike] })
  const confirmedAtMs = clock.nowMs()
  const names = ['full,50', 'compact,2']
  const { bytes, parts } = layOut(names.map((view) => JSON.stringify({ view })))
  const inputs = [{ name: 'mark', confirmedAtMs, cadenceMs: 5_000, isLoadBearing: true }]
  const answers = names.map((view, at): [string, View] => [
    view,
    only ?? { kind: 'answer', parts: [at], inputs, coveragePct: 100, warnings: [] },
  ])
  const document: Document = {
    key: documentKey('screener', WHOLE_MARKET),
    version: 1,
    renderedAtMs: confirmedAtMs,
    bytes,
    parts,
    views: Object.fromEntries(answers),
  }
  deliver({ kind: 'documents', documents: [document] })
  return app
}
