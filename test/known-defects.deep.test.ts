import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Compile } from 'typebox/compile'
import { describe, expect, test } from 'vitest'
import { gatewayFixture } from '../src/api/testing/gateway-fixture.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { Session } from '../src/compute/testing/session.ts'
import { book, context, NOW_MS, universe, warmTape } from '../src/compute/testing/tape.ts'
import type { MarketEvent } from '../src/domain/event.ts'
import type { MarketSample } from '../src/domain/history.ts'
import { usdcDecimal } from '../src/domain/usdc.ts'
import { AnsweringEngine } from './support/answers.ts'
import { installed } from './support/installed.ts'

const ROOT = join(import.meta.dirname, '..')
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const stamp = { timeExchangeMs: NOW_MS, timeReceivedMs: NOW_MS }

/**
 * Fourteen defects that an earlier service of this kind published, by their numbers. Defects of discovery
 * documents, bundles, MCP and A2A are tested with those.
 */
describe('a defect that others had', () => {
  test('1: answers have the documented shape, with nothing that is missing there', () => {
    const answers = liveAnswers()
    expect(answers.size).toBeGreaterThanOrEqual(4)
    for (const [id, answer] of answers) {
      const schema = contractOf(id).document
      expect([...Compile(schema).Errors(answer)], id).toEqual([])
      expect(undocumented(answer, schema as Shape), id).toEqual([])
    }
  })

  test('2: funding is annualised with the interval that the answer states', () => {
    const answers = liveAnswers()
    const { derivatives } = answers.get('pulse') ?? {}
    expect(derivatives.funding_rate).not.toBe(0)
    expect(derivatives.funding_annualized_pct).toBeCloseTo(
      derivatives.funding_rate * (24 / derivatives.funding_interval_hours) * 365 * 100,
      4,
    )
    const { funding } = answers.get('funding') ?? {}
    expect(funding.annualized_pct).toBeCloseTo(
      funding.current_rate * (24 / funding.interval_hours) * 365 * 100,
      4,
    )
  })

  test('3: open interest states its units: contracts, and USD at the mark price', () => {
    const changes = { openInterestBase: 3.5, markPrice: 200 }
    const answers = new AnsweringEngine()
      .hear([...warmTape('BTC'), [context('BTC', changes)]])
      .answers('BTC', NOW_MS)
    const { derivatives } = answers.get('pulse') ?? {}
    expect(derivatives.open_interest_contracts).toBe(3.5)
    expect(derivatives.open_interest).toBe(700)
    const { oi } = answers.get('oi') ?? {}
    expect(oi.current).toBe(3.5)
    expect(oi.notional_usd).toBe(700)
  })

  test('4: the confluence score follows from its own description and is no probability', () => {
    const { confluence } = liveAnswers().get('pulse') ?? {}
    const worth: Record<string, number> = { bullish: 1, neutral: 0, bearish: -1 }
    let [votes, weights] = [0, 0]
    for (const [signal, label] of Object.entries<string>(confluence.signals)) {
      votes += confluence.weights[signal] * (worth[label] ?? Number.NaN)
      weights += confluence.weights[signal]
    }
    expect(confluence.net).toBeCloseTo(votes / weights, 3)
    expect(confluence.score).toBeCloseTo(Math.abs(confluence.net), 3)
    const labels = Object.values(confluence.signals)
    expect(confluence.bullish_count).toBe(labels.filter((label) => label === 'bullish').length)
    expect(confluence.bearish_count).toBe(labels.filter((label) => label === 'bearish').length)
    expect(confluence.validated, 'nothing was measured yet').toBe(false)
    expect(Object.keys(confluence).filter((name) => /probab|confidence/.test(name))).toEqual([])
  })

  test('5: a window is as long as its data', () => {
    const samples = Array.from({ length: 120 }, (_, at) => sample(120 - at))
    const answers = new AnsweringEngine()
      .hear([...warmTape('BTC'), [remembered(samples)], [book('BTC')]])
      .answers('BTC', NOW_MS)
    const { vs_24h } = answers.get('spread')?.spread ?? {}
    expect(vs_24h.n).toBe(120)
    expect(vs_24h.window_hours, 'two hours are no day').toBeCloseTo(2, 1)
  })

  test('5: a window with a gap states its coverage', () => {
    const tape = warmTape('BTC').map((batch) =>
      batch.filter(({ kind }) => kind !== 'funding-history'),
    )
    const answers = new AnsweringEngine()
      .hear([...tape, [fundings(20)], [context('BTC')]])
      .answers('BTC', NOW_MS)
    const { funding, meta } = answers.get('funding') ?? {}
    expect(funding.lookback_hours).toBe(24)
    expect(funding.records).toBe(20)
    expect(funding.history.length).toBe(20)
    expect(meta.warnings).toContain('partial_data')
  })

  test('6: slippage uses the real book, and states model estimates and past errors', () => {
    const { spread } = liveAnswers().get('spread') ?? {}
    const methods = spread.slippage.map(({ method }: { method: string }) => method)
    expect(methods).toContain('book_walk')
    expect(methods).toContain('model')
    for (const { notional_usd, method } of spread.slippage) {
      const shown = spread[`slippage_${notional_usd / 1_000}k_bps`]
      expect(shown === null, `${notional_usd} by ${method}`).toBe(method === 'model')
    }
    expect(spread.calibration.n).toBeGreaterThanOrEqual(20)
    expect(spread.calibration.median_abs_error_bps).toBeLessThan(10)
  })

  test('7: a percentile states its window, and is null without one', () => {
    const cold = new AnsweringEngine().hear(warmTape('BTC')).answers('BTC', NOW_MS)
    const { vs_24h } = cold.get('spread')?.spread ?? {}
    expect(vs_24h).toMatchObject({ percentile: null, n: 0, window_hours: 0 })
    expect(cold.get('oi')?.oi.percentile).toBeNull()
    for (const { id, document } of contracts)
      for (const [owner, names] of objectsOf(document as Shape)) {
        if (!names.some((name) => name.startsWith('percentile'))) continue
        expect(
          names.filter((name) => /window/.test(name)),
          `${id} ${owner} has a percentile`,
        ).not.toEqual([])
      }
  })

  test('8: the ratio of longs to shorts follows funding, stays within bounds, and is called an estimate', () => {
    const ratioAt = (fundingRateHourly: number) => {
      const engine = new AnsweringEngine().hear([
        ...warmTape('BTC'),
        [context('BTC', { fundingRateHourly })],
      ])
      return engine.answers('BTC', NOW_MS).get('liquidations')
    }
    const [low, base, high] = [-1e-3, 0.0000125, 1e-3].map(ratioAt)
    expect(base?.long_short_ratio).toBeCloseTo(1, 3)
    expect(low?.long_short_ratio).toBeGreaterThan(0.6)
    expect(low?.long_short_ratio).toBeLessThan(0.65)
    expect(high?.long_short_ratio).toBeGreaterThan(1.6)
    expect(high?.long_short_ratio).toBeLessThan(1.66)
    expect(base?.meta.warnings).toContain('model_estimate')
  })

  test('9: nothing is quoted without data', async () => {
    const cold = new AnsweringEngine().hear([[universe(['ETH'])]])
    const documents = cold.documents(NOW_MS)
    expect(documents.map(({ key }) => key.split('/')[0])).toEqual(contracts.map(({ id }) => id))
    const { app, deliver } = gatewayFixture({ contracts })
    deliver({ kind: 'documents', documents })
    for (const { id, scope } of contracts) {
      const url = scope === 'coin' ? `/${id}/ETH` : `/${id}`
      const { statusCode, body } = await app.inject({ url })
      expect([400, 503], `${url} is neither sold nor quoted`).toContain(statusCode)
      expect(JSON.parse(body)).toMatchObject({ charged: false })
    }
    await app.close()
  })

  test('11: prices are in one table, repeated in the README', () => {
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
    for (const [id, usdc] of Object.entries(specifiedUsdc))
      expect(usdcDecimal(contractOf(id).priceUsdcAtomic), id).toBe(usdc)
    const rows = [...readme.matchAll(/^\| `\/([a-z-]+)[^`]*` \| ([0-9.]+) \|/gm)]
    expect(rows.map(([, id]) => id).toSorted(), 'a row for each analysis in README.md').toEqual(
      contracts.map(({ id }) => id).toSorted(),
    )
    for (const [, id = '', usdc] of rows)
      expect(usdc, id).toBe(usdcDecimal(contractOf(id).priceUsdcAtomic))
  })

  test('13: no description promises a speed or an availability', () => {
    const promise = /\b(uptime|latency|sub-second|instantly|real[- ]time|99\.\d|fastest)\b/i
    for (const { id, summary, document } of contracts) {
      expect(summary, id).not.toMatch(promise)
      expect(JSON.stringify(document), id).not.toMatch(promise)
    }
  })

  test('14: the clients in README.md and docs/paying.md compile against the packages that they name', () => {
    const code = new Map<string, string>()
    for (const page of ['README.md', 'docs/paying.md']) {
      const text = readFileSync(join(ROOT, page), 'utf8')
      const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)]
      expect(blocks.length, page).toBeGreaterThan(0)
      for (const [at, [, block = '']] of blocks.entries())
        code.set(`${page.replace('/', '-')}-${at}.ts`, block)
    }
    expect(compiled(code)).toEqual({ status: 0, stdout: '' })
  })
})

/** Prices of the analyses in the specification, USDC. */
const specifiedUsdc: Readonly<Record<string, string>> = {
  arb: '0.02',
  basis: '0.02',
  bundle: '0.05',
  'cex-dex': '0.02',
  correlation: '0.05',
  depeg: '0.01',
  funding: '0.01',
  liquidations: '0.03',
  oi: '0.015',
  pulse: '0.025',
  screener: '0.06',
  sentiment: '0.01',
  spread: '0.015',
}

/** After ten minutes of a live market. */
function liveAnswers() {
  const session = new Session('BTC', NOW_MS, 11)
  const engine = new AnsweringEngine()
  engine.hear(session.warm()).hear(session.run(10 * MINUTE_MS))
  return engine.answers('BTC', session.nowMs)
}

function contractOf(id: string) {
  const contract = contracts.find((one) => one.id === id)
  if (contract === undefined) throw new Error(`no analysis ${id}`)
  return contract
}

type Shape = {
  readonly properties?: Readonly<Record<string, Shape>>
  readonly patternProperties?: Readonly<Record<string, Shape>>
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
}

/** Paths of members that the schema does not list. */
function undocumented(value: unknown, shape: Shape, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const shapes = [shape, ...(shape.anyOf ?? [])]
  if (Array.isArray(value)) {
    const items = shapes.flatMap(({ items: one }) => (one === undefined ? [] : [one]))
    return value.flatMap((item) => undocumented(item, { anyOf: items }, `${path}[]`))
  }
  return Object.entries(value).flatMap(([name, member]) => {
    const known = shapes.flatMap((one) => [
      ...(one.properties?.[name] === undefined ? [] : [one.properties[name]]),
      ...Object.values(one.patternProperties ?? {}),
      ...(one.anyOf ?? []).flatMap((inner) => inner.properties?.[name] ?? []),
    ])
    if (known.length === 0) return [`${path}.${name}`]
    return undocumented(member, { anyOf: known }, `${path}.${name}`)
  })
}

/** Every object of a schema and the names in it. */
function* objectsOf(shape: Shape, path = ''): Generator<readonly [string, readonly string[]]> {
  if (shape.properties !== undefined) yield [path, Object.keys(shape.properties)]
  for (const [name, member] of Object.entries(shape.properties ?? {}))
    yield* objectsOf(member, `${path}.${name}`)
  for (const member of [...(shape.anyOf ?? []), ...Object.values(shape.patternProperties ?? {})])
    yield* objectsOf(member, path)
  if (shape.items !== undefined) yield* objectsOf(shape.items, `${path}[]`)
}

function remembered(samples: readonly MarketSample[]): MarketEvent {
  return { kind: 'sample-history', coin: 'BTC', samples, ...stamp }
}

/** The newest hour ends at the last whole one. */
function fundings(hours: number): MarketEvent {
  const newest = Math.floor(NOW_MS / HOUR_MS)
  const rows = Array.from({ length: hours }, (_, at) => ({
    coin: 'BTC',
    timeMs: (newest - hours + 1 + at) * HOUR_MS,
    rateHourly: 1e-5 + at * 1e-6,
    premium: 1e-4,
    isSettled: true,
  }))
  return { kind: 'funding-history', coin: 'BTC', rows, ...stamp }
}

function sample(minutesAgo: number): MarketSample {
  return {
    coin: 'BTC',
    timeMs: (Math.floor(NOW_MS / MINUTE_MS) - minutesAgo + 1) * MINUTE_MS,
    markPrice: 110,
    oraclePrice: 110,
    openInterestBase: 1_000,
    dayNotional: 1e6,
    fundingRateHourly: 1e-5,
    premium: 0,
    spreadBps: 2,
    impactSpreadBps: 3,
  }
}

/**
 * Compiler messages for modules, by name, of a user who installed what they import: one run, because it loads the types
 * of all packages. Not within this repository, whose files other tests copy and pack at the same time.
 */
function compiled(code: ReadonlyMap<string, string>) {
  const imports = /(?<=from ')(?:@[^/']+\/)?[^/':]+(?=[/'])/g
  const named = new Set([...code.values()].flatMap((text) => text.match(imports) ?? []))
  named.delete('perpscope')
  const user = installed([...named, '@types/node'])
  try {
    writeFileSync(join(user.folder, 'package.json'), '{"type":"module"}')
    const files = [...code].map(([name, text]) => {
      const file = join(user.folder, name)
      writeFileSync(file, text)
      return file
    })
    const options = [
      ...['--noEmit', '--target', 'es2022', '--module', 'nodenext', '--skipLibCheck'],
      ...['--moduleDetection', 'force'],
    ]
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const args = [compiler, '--ignoreConfig', '--strict', ...options, ...files]
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    return { status, stdout }
  } finally {
    user.remove()
  }
}
