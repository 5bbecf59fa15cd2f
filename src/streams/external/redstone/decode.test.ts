import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { mutated } from '../testing/mutated.ts'
import { decodePackages, medianAndDeviation } from './decode.ts'

const NOW_MS = Date.UTC(2026, 10, 20)
const TIME_MS = NOW_MS - 4_000

type Package = Record<string, unknown>

function signed(node: number, value: unknown, changes: Package = {}, feed = 'BTC'): Package {
  return {
    timestampMilliseconds: TIME_MS,
    signature: `signature ${node}`,
    isSignatureValid: true,
    dataPoints: [{ dataFeedId: feed, value }],
    dataPackageId: feed,
    signerAddress: `0x${String(node).padStart(40, 'a')}`,
    ...changes,
  }
}

function decode(packages: readonly unknown[], assets = ['BTC']) {
  return decodePackages(JSON.stringify({ BTC: packages }), NOW_MS, assets)
}

describe('the packages of one feed', () => {
  test('are one price: the median of the nodes, and how far they are from it', () => {
    const packages = [60_000, 60_040, 60_002, 60_004, 59_960].map((value, node) =>
      signed(node, value),
    )
    expect(decode(packages)).toEqual({
      issues: [],
      events: [
        {
          kind: 'oracle-price',
          network: 'redstone',
          place: '',
          asset: 'BTC',
          priceUsd: 60_002,
          confidenceUsd: (2 + 38 + 0 + 2 + 42) / 5,
          ema: null,
          resolutionBps: 5,
          heartbeatMs: 30_000,
          timeExchangeMs: TIME_MS,
          timeReceivedMs: NOW_MS,
        },
      ],
    })
  })

  test('of nodes that nearly agree, as they do, are not surer than a basis point', () => {
    const values = [78_676.8627996, 78_676.8627996, 78_676.8627996, 78_676.8577998, 78_676.8627996]
    expect(decode(values.map((value, node) => signed(node, value))).events).toMatchObject([
      { priceUsd: 78_676.8627996, confidenceUsd: 7.86768627996 },
    ])
  })

  test('by a single node are refused, however often it speaks', () => {
    for (const packages of [[signed(1, 60_000)], [signed(1, 60_000), signed(1, 60_001)]]) {
      const { events, issues } = decode(packages)
      expect(events).toEqual([])
      expect(issues).toContainEqual({
        kind: 'price_refused',
        detail: 'BTC: fewer than 2 nodes agree',
      })
    }
  })

  test('count one value per node, whatever the case of its address', () => {
    const again = signed(2, 90_000, { signerAddress: `0x${'A'.repeat(39)}1` })
    const { events } = decode([signed(1, 60_000), again, signed(2, 60_002)])
    expect(events).toMatchObject([{ priceUsd: 60_001 }])
  })

  test('are distinguished by their signatures if signers are not named', () => {
    const nameless = (node: number, value: number) => {
      const { signerAddress: _, ...others } = signed(node, value)
      return others
    }
    expect(decode([nameless(1, 60_000), nameless(2, 60_002)]).events).toMatchObject([
      { priceUsd: 60_001 },
    ])
    expect(decode([nameless(1, 60_000), nameless(1, 60_002)]).events).toEqual([])
  })

  test.each([
    ['another feed', { dataPoints: [{ dataFeedId: 'ETH', value: 3_000 }] }],
    ['another package', { dataPackageId: '___ALL_FEEDS___' }],
    [
      'several points',
      {
        dataPoints: [
          { dataFeedId: 'BTC', value: 1 },
          { dataFeedId: 'ETH', value: 3_000 },
        ],
      },
    ],
    ['a signature that is known to be bad', { isSignatureValid: false }],
    ['a signer that is none', { signerAddress: 'me' }],
    ['a price of nothing', { dataPoints: [{ dataFeedId: 'BTC', value: 0 }] }],
    ['a negative price', { dataPoints: [{ dataFeedId: 'BTC', value: -60_000 }] }],
    ['a time in the future', { timestampMilliseconds: NOW_MS + 10_001 }],
    ['no time', { timestampMilliseconds: null }],
  ])('leave out one with %s', (_, changes) => {
    const { events } = decode([signed(1, 60_000), signed(2, 60_002), signed(3, 90_000, changes)])
    expect(events).toMatchObject([{ priceUsd: 60_001 }])
  })

  test('count at the newest instant that two nodes signed', () => {
    const newer = { timestampMilliseconds: TIME_MS + 1_000 }
    const older = [signed(1, 60_000), signed(2, 60_002)]
    const { events } = decode([...older, signed(3, 61_000, newer)])
    expect(events).toMatchObject([{ priceUsd: 60_001, timeExchangeMs: TIME_MS }])
    const both = decode([...older, signed(3, 61_000, newer), signed(4, 61_002, newer)])
    expect(both.events).toMatchObject([{ priceUsd: 61_001, timeExchangeMs: TIME_MS + 1_000 }])
  })

  test('that speak of different things are refused', () => {
    expect(decode([signed(1, 60_000), signed(2, 100)]).events).toEqual([])
  })

  test('come as text where a number would not hold them', () => {
    const { events } = decode([signed(1, '0.000012345678'), signed(2, '0.000012345678')])
    expect(events).toMatchObject([{ priceUsd: 0.000_012_345_678 }])
  })

  test('of unrequested assets, or of names that every object has, are skipped', () => {
    const body = JSON.stringify({ BTC: [signed(1, 1), signed(2, 1)], ETH: [signed(1, 2)] })
    const { events } = decodePackages(body, NOW_MS, ['BTC', 'constructor', '__proto__', 'SOL'])
    expect(events).toMatchObject([{ asset: 'BTC' }])
  })

  const body = JSON.stringify({
    BTC: [1, 2, 3].map((node) => signed(node, 60_000 + node)),
    USDC: [1, 2].map((node) => signed(node, 0.9999, {}, 'USDC')),
  })
  test.prop([mutated(body)], { numRuns: 2_000 })(
    'mangled on their way give no absurd price',
    (text) => {
      for (const event of decodePackages(text, NOW_MS, ['BTC', 'USDC']).events) {
        if (event.kind !== 'oracle-price') throw new Error('a price event is expected')
        expect(event.priceUsd).toBeGreaterThan(0)
        expect(event.priceUsd).toBeLessThanOrEqual(1e9)
        expect(event.confidenceUsd).toBeGreaterThanOrEqual(0)
        expect(event.confidenceUsd).toBeLessThan(event.priceUsd)
        expect(event.timeExchangeMs).toBeLessThanOrEqual(NOW_MS + 10_000)
      }
    },
  )
})

describe('median and mean absolute deviation', () => {
  const values = fc.array(fc.double({ min: 1, max: 1_000, noNaN: true }), {
    minLength: 2,
    maxLength: 9,
  })

  test.prop([values])('are a Laplace distribution than which none is likelier', (drawn) => {
    const { median, deviation } = medianAndDeviation(drawn)
    fc.pre(deviation > 1e-6)
    const logLikelihood = (location: number, scale: number) =>
      drawn.reduce((sum, x) => sum - Math.log(2 * scale) - Math.abs(x - location) / scale, 0)
    const best = logLikelihood(median, deviation)
    for (const location of [...drawn, median - 0.1, median + 0.1])
      for (const factor of [0.5, 0.9, 1, 1.1, 2])
        expect(logLikelihood(location, deviation * factor)).toBeLessThanOrEqual(best + 1e-9)
  })

  test('of nothing are nothing', () => {
    expect(medianAndDeviation([])).toEqual({ median: 0, deviation: 0 })
  })
})
