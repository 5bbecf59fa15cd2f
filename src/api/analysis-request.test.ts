import { fc, test as property } from '@fast-check/vitest'
import type { FastifyInstance } from 'fastify'
import Fastify from 'fastify'
import { afterAll, describe, expect, test } from 'vitest'
import { timeframeSubsets } from '../compute/analyses/pulse/timeframes-parameter.ts'
import { contracts } from '../compute/analyses/registry.ts'
import { screenerViews } from '../compute/analyses/screener/screener-parameters.ts'
import { bucketViews } from '../compute/analyses/sentiment/bucket-parameter.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { pathOf } from '../domain/contract.ts'
import { bindingOf } from '../payment/resource.ts'
import { documentNames } from './analysis-request.ts'

/** One document, and the calls for it. */
type Wanted = { readonly identity: string; readonly url: string }

/** A parameter: what it selects, and how that may be written; `usual` may be left out. */
type Written = {
  readonly name: string
  readonly value: string
  readonly spellings: fc.Arbitrary<string>
  readonly isUsual: boolean
}

const bindings = bindingServer()
const bound = async (url: string) => {
  const response = await bindings.inject(url)
  expect(response.statusCode, url).toBe(200)
  return response.body
}

afterAll(() => bindings.close())

describe('the binding of a payment', () => {
  const runs = { seed: 34, numRuns: 1_000 }

  test('is the same for both names of a coin in thousands, in one unit', async () => {
    const own = await bound('/pulse/kPEPE')
    expect(await bound('/pulse/1000PEPE')).toBe(own)
    expect(await bound('/pulse/1000PEPEUSDT')).toBe(own)
    expect(await bound('/pulse/PEPE')).not.toBe(own)
  })

  test('exists for fields that are refused now, as an earlier version may have sold them', async () => {
    const [one, other] = ['15m', '4h'].map(
      (name) => `/pulse/BTC?timeframes=1h&fields=timeframes.${name}`,
    )
    expect(await bound(one ?? '')).not.toBe(await bound(other ?? ''))
  })

  property.prop([wanted().chain(({ spelled }) => fc.tuple(spelled, spelled))], runs)(
    'is the same for every spelling of one document',
    async ([one, other]) => {
      expect(await bound(other.url), `${one.url} and ${other.url}`).toBe(await bound(one.url))
    },
  )

  property.prop(
    [
      // Mostly of one analysis, where two documents are likeliest to be taken for one.
      fc
        .constantFrom(...contracts)
        .chain((contract) =>
          fc
            .tuple(wantedOf(contract), fc.oneof(wantedOf(contract), wanted()))
            .chain(([one, other]) => fc.tuple(one.spelled, other.spelled)),
        ),
    ],
    runs,
  )('is never the same for two documents', async ([one, other]) => {
    const isSame = (await bound(one.url)) === (await bound(other.url))
    expect(isSame, `${one.url} and ${other.url}`).toBe(one.identity === other.identity)
  })

  test.each([
    ['/pulse/BTC', '/pulse/btc'],
    ['/pulse/BTC', '/pulse/BTC-PERP'],
    ['/pulse/BTC', '/pulse/btcusdt'],
    ['/pulse/BTC', '/pulse/BTC%2FUSDC'],
    ['/pulse/BTC', '/pulse/BTC%2fUSDC:USDC'],
    ['/pulse/PEPE', '/pulse/PEPE-USDT-SWAP'],
    ['/pulse/BTC', '/pulse/%42%54c/?timeframes=4h,1h'],
    ['/pulse/BTC', '/pulse/BTC?timeframes=1h,4h&view=full'],
    ['/pulse/BTC?timeframes=1h,4h', '/pulse/BTC?timeframes=%201h%2C4h&utm_source=x&_=1'],
    ['/funding/BTC', '/funding/BTC?lookback_hours=24'],
    ['/screener', '/screener?top_n=50&view=Full'],
    ['/sentiment', '/sentiment?bucket=Scores'],
    ['/oi/BTC?fields=price,oi.current', '/oi/BTC?fields=oi.current,%20price,price,meta.offering'],
    ['/oi/BTC?fields=oi', '/oi/BTC?fields=oi.current,oi'],
  ])('of %s is that of %s', async (one, other) => {
    expect(await bound(other)).toBe(await bound(one))
  })

  test.each([
    // Of kPEPE both, but one says that it was asked for the unscaled token.
    ['/pulse/PEPE', '/pulse/kPEPE'],
    ['/pulse/BTC', '/pulse/BTC?timeframes=4h'],
    ['/pulse/BTC', '/pulse/BTC?view=compact'],
    ['/pulse/BTC', '/oi/BTC'],
    ['/pulse/BTC', '/pulse/xyz:BTC'],
    ['/screener?top_n=20', '/screener?view=compact&top_n=20'],
    ['/oi/BTC?fields=oi', '/oi/BTC?fields=oi.current'],
  ])('of %s is not that of %s', async (one, other) => {
    expect(await bound(other)).not.toBe(await bound(one))
  })
})

/** Answers with what a payment for the call would be bound to. */
function bindingServer(): FastifyInstance {
  const app = Fastify({ routerOptions: { ignoreTrailingSlash: true } })
  for (const contract of contracts) {
    const documentOf = documentNames(contract)
    app.get(pathOf(contract, ':coin'), (request, reply) => {
      expect(documentOf(request), request.url).not.toBeNull()
      return reply.send(bindingOf(request, { documentOf }))
    })
  }
  return app
}

type Spellings = { readonly spelled: fc.Arbitrary<Wanted> }

function wanted(): fc.Arbitrary<Spellings> {
  return fc.constantFrom(...contracts).chain(wantedOf)
}

function wantedOf(contract: AnalysisContract): fc.Arbitrary<Spellings> {
  const coin = contract.scope === 'coin' ? coins() : fc.constant('')
  return fc.tuple(coin, parameters(contract), fields(contract)).map(([name, own, chosen]) => ({
    spelled: spelled(contract, name, chosen === null ? own : [...own, chosen]),
  }))
}

function coins(): fc.Arbitrary<string> {
  return fc.constantFrom('BTC', 'ETH', 'KPEPE', 'PEPE', 'XYZ:GOLD')
}

function parameters({ viewParameters }: AnalysisContract): fc.Arbitrary<readonly Written[]> {
  const names = viewParameters.map(({ name }) => name)
  const view = words('view', screenerViews, 'full')
  const own = names.map((name) => {
    switch (name) {
      case 'timeframes':
        return fc.constantFrom(...timeframeSubsets).map((subset) => ({
          name,
          value: subset.join(),
          spellings: listed(subset),
          isUsual: subset.join() === '1h,4h',
        }))
      case 'lookback_hours':
        return exact(name, ['1', '8', '24', '100', '168'], '24')
      case 'top_n':
        return exact(name, ['1', '20', '50', '100'], '50')
      case 'bucket':
        return words(name, bucketViews, 'scores')
      case 'view':
        return view
      default:
        throw new TypeError(`no spellings of ${name} are known here`)
    }
  })
  return fc.tuple(...(names.includes('view') ? own : [...own, view]))
}

function exact(name: string, values: readonly string[], usual: string): fc.Arbitrary<Written> {
  return fc
    .constantFrom(...values)
    .map((value) => ({ name, value, spellings: fc.constant(value), isUsual: value === usual }))
}

function words(name: string, values: readonly string[], usual: string): fc.Arbitrary<Written> {
  return fc
    .constantFrom(...values)
    .map((value) => ({ name, value, spellings: anyCase(value), isUsual: value === usual }))
}

/** Some members of the answer, in their shortest words; null for all of them. */
function fields({ document, compactOmits = [] }: AnalysisContract): fc.Arbitrary<Written | null> {
  const { properties } = document as { readonly properties?: Readonly<Record<string, unknown>> }
  // Also with `view=compact`, which has no more than it shows.
  const absent = new Set(['timestamp_iso', 'interpretation', 'history', 'sources', ...compactOmits])
  const names = Object.keys(properties ?? {}).filter((name) => !absent.has(name))
  const paths = [...names, 'meta.quality', 'meta.as_of']
  return fc.option(
    fc.subarray(paths, { minLength: 1, maxLength: Math.min(12, paths.length) }).map((chosen) => {
      const isWhole = chosen.includes('meta')
      const least = chosen.filter((path) => !(isWhole && path.startsWith('meta.')))
      const spare = ['timestamp_iso', 'meta.data_age_seconds', ...(isWhole ? ['meta.quality'] : [])]
      return {
        name: 'fields',
        value: least.sort().join(),
        spellings: fc.subarray(spare).chain((more) => listed([...chosen, ...more], false)),
        isUsual: false,
      }
    }),
  )
}

function spelled(
  contract: AnalysisContract,
  coin: string,
  own: readonly Written[],
): fc.Arbitrary<Wanted> {
  const identity = JSON.stringify([
    contract.id,
    coin,
    ...own.map(({ name, value }) => [name, value]),
  ])
  const written = own.map(({ name, spellings, isUsual }) =>
    fc
      .tuple(spellings, fc.boolean())
      .map(([text, isLeftOut]) =>
        isUsual && isLeftOut ? [] : [`${name}=${encodeURIComponent(text)}`],
      ),
  )
  const spare = fc.subarray(['utm_source=a', 'utm_source=b', 'utm_medium', '_=1'])
  return fc
    .tuple(
      coin === '' ? fc.constant('') : tickers(coin),
      fc.tuple(...written, spare).map((all) => all.flat()),
      fc.constantFrom('', '/'),
      fc.integer({ min: 0, max: 6 }),
    )
    .map(([ticker, pairs, end, turn]) => {
      const turned = [...pairs.slice(turn), ...pairs.slice(0, turn)]
      return { identity, url: `${pathOf(contract, ticker)}${end}?${turned.join('&')}` }
    })
}

function tickers(coin: string): fc.Arbitrary<string> {
  return fc
    .tuple(
      anyCase(coin),
      fc.constantFrom('', '-PERP', '-usd', 'Usdt', '_USDC', ':usdc'),
      fc.boolean(),
    )
    .map(([name, suffix, isEncoded]) =>
      isEncoded
        ? Array.from(name + suffix, (one) => `%${one.charCodeAt(0).toString(16)}`).join('')
        : name + suffix,
    )
}

/** Its items in any order, some of them again, with spaces. */
function listed(items: readonly string[], isAnyCase = true): fc.Arbitrary<string> {
  return fc
    .tuple(fc.shuffledSubarray([...items], { minLength: items.length }), fc.subarray([...items]))
    .chain(([all, again]) =>
      fc.tuple(
        ...[...all, ...again].map((item) => (isAnyCase ? anyCase(item) : fc.constant(item))),
      ),
    )
    .chain((all) => fc.constantFrom(',', ', ', ' ,').map((comma) => all.join(comma)))
}

function anyCase(text: string): fc.Arbitrary<string> {
  return fc.constantFrom(text, text.toUpperCase(), text.toLowerCase())
}
