import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { Chain, Exchange, OracleNetwork, SourceId } from '../src/domain/external.ts'
import { chains, exchanges, oracleNetworks, sourceIds } from '../src/domain/external.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import type { CallerResult, RigCoin, RigOptions } from './support/external-rig.ts'
import { ExternalRig, RIG_START_MS } from './support/external-rig.ts'

/**
 * Each source killed, stalled and lying, alone and in pairs, from its protocol to the caller: the answer degrades,
 * names the substitute and the reason, is refused without its inputs, recovers, and is never wrong in between. The
 * results are tabulated in docs/external-faults.md.
 */

const SEED = 2
const SECOND_MS = 1_000
const WARM_MS = 40_000
const LIE_BPS = 500
/** Above the market's walk between two prices of different ages, and far below `LIE_BPS`. */
const WRONG_BPS = 30
const PEG_WRONG_BPS = 5
/** Back-off is at most 60 s; a source is used again after another 30 s. */
const BACK_SECONDS_MAX = 120
const COINS: readonly RigCoin[] = ['BTC', 'ETH', 'SOL', 'kPEPE']

const otherNetworks = oracleNetworks.filter((network) => network !== 'pyth-hermes')
/** The most accurate of them depends on their publication times. */
const standIns = ['redstone', 'pyth-solana', 'pyth-evm'] as const

type Answered = Extract<CallerResult, { status: 200 }>
/** Fault of a source. */
type Fault = 'dead' | 'stalled' | 'lies' | 'frozen'

function warmRig(options: Partial<RigOptions> = {}): ExternalRig {
  return new ExternalRig({ seed: SEED, pythKey: 'any', ...options }).runUntil(WARM_MS)
}

function begin(rig: ExternalRig, fault: Fault, source: SourceId, seconds: number): void {
  const lastsMs = seconds * SECOND_MS
  if (fault === 'lies') rig.happen({ kind: 'offset', source, bps: LIE_BPS }, lastsMs)
  else rig.happen({ kind: fault, source }, lastsMs)
}

/** Runs second by second and expects no wrong answer. @returns the seconds until the condition held */
function secondsUntil(
  rig: ExternalRig,
  is: () => boolean,
  secondsMax: number,
  what: string,
): number {
  for (let seconds = 1; seconds <= secondsMax; seconds += 1) {
    rig.runFor(SECOND_MS)
    expect(wrongIn(rig), `${what}, ${seconds} s, seed ${SEED}`).toEqual([])
    if (is()) return seconds
  }
  assert.fail(`not within ${secondsMax} s: ${what}; ${stateOf(rig)}`)
}

function hold(rig: ExternalRig, seconds: number, what: string, is: () => boolean = () => true) {
  for (let second = 1; second <= seconds; second += 1) {
    rig.runFor(SECOND_MS)
    expect(wrongIn(rig), `${what}, ${second} s, seed ${SEED}`).toEqual([])
    expect(is(), `${what}, ${second} s; ${stateOf(rig)}`).toBe(true)
  }
}

function answered(result: CallerResult): Answered | null {
  return result.status === 200 ? result : null
}

function refusal(result: CallerResult): string {
  return result.status === 503 ? result.why : String(result.status)
}

/** Every current answer that contradicts the simulated truth. */
function wrongIn(rig: ExternalRig): string[] {
  return [...COINS.flatMap((coin) => wrongOfCoin(rig, coin)), ...wrongOfPeg(rig)]
}

function wrongOfCoin(rig: ExternalRig, coin: RigCoin): string[] {
  const { reference, nowMs } = rig
  const [asset, scale] = coin === 'kPEPE' ? ['PEPE', 1_000] : [coin, 1]
  const truth = (reference.priceUsd(asset, nowMs) ?? Number.NaN) * scale
  const awayBps = (price: number) => Math.abs(price / truth - 1) * 1e4
  const wrong: string[] = []
  const basis = answered(rig.basis(coin))?.body.basis
  if (basis !== undefined && !(awayBps(basis.spot_price) < WRONG_BPS + basis.resolution_bps))
    wrong.push(`/basis/${coin}: ${awayBps(basis.spot_price)} bps off, by ${basis.source}`)
  const cexDex = answered(rig.cexDex(coin))?.body
  if (cexDex === undefined) return wrong
  if (!(awayBps(cexDex.cex_price) < WRONG_BPS))
    wrong.push(`/cex-dex/${coin}: exchanges ${awayBps(cexDex.cex_price)} bps off`)
  const resolutionBps = cexDex.dex_source === 'dex_pool' ? 0 : cexDex.oracle_network.resolution_bps
  const [chain] = cexDex.dex_name.split('/')
  const isLying = isLie(rig, chain)
  if (!isLying && !(awayBps(cexDex.dex_price) < WRONG_BPS + resolutionBps))
    wrong.push(`/cex-dex/${coin}: ${cexDex.dex_name} ${awayBps(cexDex.dex_price)} bps off`)
  return wrong
}

function wrongOfPeg(rig: ExternalRig): string[] {
  const { reference, nowMs } = rig
  const wrong: string[] = []
  const usdc = answered(rig.depeg)?.body.usdc
  const truthBps = ((reference.priceUsd('USDC', nowMs) ?? Number.NaN) - 1) * 1e4
  const isRight = Math.abs(usdc?.signed_deviation_bps - truthBps) < PEG_WRONG_BPS
  if (usdc !== undefined && !(isRight && usdc.peg_status === 'HEALTHY'))
    wrong.push(`/depeg: ${usdc.signed_deviation_bps} bps, ${usdc.peg_status}`)
  const arb = answered(rig.arb)?.body
  // A false price on one chain cannot be distinguished from a real one.
  const isRumour = chains.some((chain) => isLie(rig, chain))
  if (arb !== undefined && !isRumour && arb.opportunities.length > 0)
    wrong.push(`/arb: ${arb.opportunities.length} opportunities`)
  return wrong
}

/** Includes sources that lied a moment ago, because their last value stays in use for a while. */
function isLie({ reference, nowMs }: ExternalRig, source: string): boolean {
  return reference.scenario.some(
    (event) =>
      event.kind === 'offset' &&
      event.source === source &&
      nowMs >= event.fromMs &&
      nowMs < event.untilMs + 40 * SECOND_MS,
  )
}

function stateOf(rig: ExternalRig): string {
  const lines = [rig.basis('ETH'), rig.cexDex('ETH'), rig.arb, rig.depeg].map((result) =>
    result.status === 200 ? `${result.grade} ${result.warnings} ${result.sources}` : result.why,
  )
  return [...lines, ...rig.statuses.slice(-5)].join(' | ')
}

function usedBy(rig: ExternalRig, coin: RigCoin): OracleNetwork | undefined {
  return answered(rig.basis(coin))?.body.basis.source
}

/** The reason that the answer states against a network. */
function whyNot(rig: ExternalRig, coin: RigCoin, network: OracleNetwork): string | null {
  const networks = answered(rig.basis(coin))?.body.basis.oracle_networks ?? []
  return networks.find((row: { network: string }) => row.network === network)?.why_not ?? null
}

function exchangesUsed(rig: ExternalRig): number {
  return answered(rig.cexDex('ETH'))?.body.exchanges.used_n ?? 0
}

function exchangeWhyNot(rig: ExternalRig, exchange: Exchange): string | null {
  const venues = answered(rig.cexDex('ETH'))?.body.exchanges.venues ?? []
  return venues.find((row: { exchange: string }) => row.exchange === exchange)?.why_not ?? null
}

function freshChains(rig: ExternalRig): number {
  return answered(rig.arb)?.body.chains_scanned ?? 0
}

function isFresh(rig: ExternalRig, chain: Chain): boolean {
  const rows = answered(rig.arb)?.body.chains ?? []
  return rows.find((row: { chain: string }) => row.chain === chain)?.is_fresh ?? false
}

function pegClasses(rig: ExternalRig): number {
  return answered(rig.depeg)?.body.agreement.classes ?? 0
}

function isWhole(rig: ExternalRig): boolean {
  return (
    usedBy(rig, 'ETH') === 'pyth-hermes' &&
    usedBy(rig, 'kPEPE') === 'pyth-hermes' &&
    exchangesUsed(rig) === exchanges.length &&
    freshChains(rig) === chains.length &&
    pegClasses(rig) === 3 &&
    answered(rig.depeg)?.grade === 'A'
  )
}

function backAgain(rig: ExternalRig, what: string): void {
  secondsUntil(rig, () => isWhole(rig), BACK_SECONDS_MAX, `${what} is over`)
}

/** The newest reported state of a source. */
function stateOfSource(rig: ExternalRig, source: SourceId): string | undefined {
  return rig.statuses.findLast((line) => line.split(' ')[1] === source)?.split(' ')[2]
}

test('without faults every source is up and no answer is wrong', () => {
  const rig = warmRig()
  expect(isWhole(rig)).toBe(true)
  expect(rig.basis('PURR'), 'nobody outside knows it').toEqual({ status: 503, why: 'oracle' })
  hold(rig, 180, 'calm', () => isWhole(rig))
  expect(rig.basis('PURR')).toEqual({ status: 404, why: 'not-covered' })
  expect(refusal(rig.cexDex('PURR'))).toBe('404')
})

describe.each(['dead', 'stalled'] as const)('%s, each alone', (fault) => {
  test('Hermes: another network is used, and the answer states the reason', () => {
    const rig = warmRig()
    const what = `pyth-hermes ${fault}`
    begin(rig, fault, 'pyth-hermes', 60)
    const stoodInFor = () =>
      standIns.some((network) => network === usedBy(rig, 'ETH')) &&
      usedBy(rig, 'kPEPE') === 'redstone'
    expect(secondsUntil(rig, stoodInFor, 60, what)).toBeLessThanOrEqual(15)
    expect(answered(rig.basis('ETH'))?.sources).toContain(usedBy(rig, 'ETH'))
    hold(rig, 20, what, stoodInFor)
    expect(whyNot(rig, 'ETH', 'pyth-hermes')).toBe('late')
    expect(stateOfSource(rig, 'pyth-hermes')).toBe('down')
    backAgain(rig, what)
  })

  test('every other network: Hermes is still used', () => {
    const rig = warmRig()
    for (const network of otherNetworks) {
      begin(rig, fault, network, 30)
      hold(rig, 30, `${network} ${fault}`, () => usedBy(rig, 'ETH') === 'pyth-hermes')
      if (fault === 'dead') expect(stateOfSource(rig, network)).toBe('down')
      backAgain(rig, `${network} ${fault}`)
      const isBack = () => ['up', 'degraded'].includes(stateOfSource(rig, network) ?? '')
      if (!isBack()) secondsUntil(rig, isBack, BACK_SECONDS_MAX, `${network} is back`)
    }
  })

  test('every exchange: four others are used, within seconds', () => {
    const rig = warmRig()
    for (const exchange of exchanges) {
      const what = `${exchange} ${fault}`
      begin(rig, fault, exchange, 25)
      const isWithout = () => exchangesUsed(rig) === exchanges.length - 1
      expect(secondsUntil(rig, isWithout, 25, what)).toBeLessThanOrEqual(8)
      expect(exchangeWhyNot(rig, exchange)).toBe('too_old')
      hold(rig, 12, what, isWithout)
      expect(stateOfSource(rig, exchange)).toBe('down')
      // Only Kraken trades USDC for USD.
      expect(pegClasses(rig)).toBe(exchange === 'kraken' ? 2 : 3)
      if (exchange === 'kraken')
        expect(answered(rig.depeg)).toMatchObject({ grade: 'C', warnings: ['low_coverage'] })
      backAgain(rig, what)
    }
  })

  test('every chain: seven others are fresh', () => {
    const rig = warmRig()
    for (const chain of chains) {
      const what = `${chain} ${fault}`
      begin(rig, fault, chain, 66)
      const isWithout = () => freshChains(rig) === chains.length - 1
      secondsUntil(rig, isWithout, 66, what)
      expect(isFresh(rig, chain)).toBe(false)
      expect(usedBy(rig, 'ETH')).toBe('pyth-hermes')
      backAgain(rig, what)
    }
  })
})

describe('each source 5 % off', () => {
  test('Hermes is outvoted within seconds and used again after half a minute', () => {
    const rig = warmRig()
    begin(rig, 'lies', 'pyth-hermes', 30)
    // Until the next rendering, after at most two seconds, the previous answer is served.
    hold(rig, 30, 'pyth-hermes lies')
    expect(standIns).toContain(usedBy(rig, 'ETH'))
    expect(usedBy(rig, 'kPEPE')).toBe('redstone')
    expect(whyNot(rig, 'ETH', 'pyth-hermes')).toBe('outvoted')
    const isTrusted = () => usedBy(rig, 'ETH') === 'pyth-hermes'
    const seconds = secondsUntil(rig, isTrusted, BACK_SECONDS_MAX, 'trusted again')
    expect(seconds).toBeGreaterThanOrEqual(29)
    expect(seconds).toBeLessThanOrEqual(40)
  })

  test.each(standIns)('without a key %s is outvoted and another network is used', (network) => {
    const rig = new ExternalRig({ seed: SEED }).runUntil(WARM_MS)
    begin(rig, 'lies', network, 40)
    hold(rig, 40, `${network} lies`)
    expect(standIns.filter((other) => other !== network)).toContain(usedBy(rig, 'ETH'))
    expect(whyNot(rig, 'ETH', network)).toBe('outvoted')
    const isTrusted = () => whyNot(rig, 'ETH', network) !== 'outvoted'
    secondsUntil(rig, isTrusted, BACK_SECONDS_MAX, 'trusted again')
  })

  test('no other network changes an answer while Hermes is up', () => {
    const rig = warmRig()
    for (const network of otherNetworks) {
      begin(rig, 'lies', network, 25)
      hold(rig, 40, `${network} lies`, () => usedBy(rig, 'ETH') === 'pyth-hermes')
    }
  })

  test('no exchange but one changes an answer', () => {
    const rig = warmRig()
    for (const exchange of exchanges) {
      if (exchange === 'kraken') continue
      begin(rig, 'lies', exchange, 20)
      hold(rig, 20, `${exchange} lies`)
      backAgain(rig, `${exchange} lies`)
    }
  })

  test('no frozen exchange changes an answer', () => {
    const rig = warmRig()
    for (const exchange of exchanges) {
      begin(rig, 'frozen', exchange, 30)
      hold(rig, 32, `${exchange} frozen`)
    }
  })

  test('a chain shows a gap of that size on that chain only', () => {
    const rig = warmRig()
    for (const chain of chains) {
      // With an offset of every asset at the same time, Solana's simulated pools would show no gap.
      rig.happen({ kind: 'offset', source: chain, asset: 'ETH', bps: LIE_BPS }, 45 * SECOND_MS)
      hold(rig, 44, `${chain} lies`)
      const { opportunities, stress_level: level } = answered(rig.arb)?.body ?? {}
      expect(level, chain).toBe('MODERATE')
      const sold = new Set(opportunities.map((row: { sell_chain: string }) => row.sell_chain))
      expect([...sold]).toEqual([chain])
      hold(rig, 40, `${chain} lied`)
      expect(answered(rig.arb)?.body).toMatchObject({ stress_level: 'LOW', opportunities: [] })
    }
  })

  test.each([600, 60])(
    'a node whose blocks are %i s old is passed over, and its chain not fresh',
    (by) => {
      const [fromMs, untilMs] = [45, 125].map((seconds) => RIG_START_MS + seconds * SECOND_MS)
      assert(fromMs !== undefined && untilMs !== undefined)
      const behind = { source: 'base', byMs: by * SECOND_MS, fromMs, untilMs } as const
      const rig = warmRig({ behind })
      const what = `base ${by} s behind`
      secondsUntil(rig, () => !isFresh(rig, 'base'), 60, what)
      expect(freshChains(rig)).toBe(chains.length - 1)
      hold(rig, 30, what, () => !isFresh(rig, 'base'))
      backAgain(rig, what)
    },
  )
})

type Pair = {
  readonly faults: readonly (readonly [Fault, SourceId])[]
  readonly seconds: number
  readonly expected: (rig: ExternalRig) => void
}

const pairs: readonly Pair[] = [
  {
    faults: [
      ['dead', 'pyth-hermes'],
      ['dead', 'redstone'],
    ],
    seconds: 130,
    expected: (rig) => {
      expect(usedBy(rig, 'ETH')).toMatch(/^pyth-(solana|evm)$/)
      expect(refusal(rig.basis('kPEPE')), 'nobody else knows it').toBe('oracle')
      expect(refusal(rig.cexDex('kPEPE'))).toBe('oracle')
    },
  },
  {
    faults: [
      ['dead', 'pyth-hermes'],
      ['dead', 'kraken'],
    ],
    seconds: 40,
    expected: (rig) => {
      expect(standIns).toContain(usedBy(rig, 'ETH'))
      expect(exchangesUsed(rig)).toBe(4)
      expect(answered(rig.depeg)).toMatchObject({ grade: 'C' })
    },
  },
  {
    faults: [
      ['dead', 'kraken'],
      ['dead', 'coinbase'],
    ],
    seconds: 40,
    expected: (rig) => {
      expect(exchangesUsed(rig)).toBe(3)
      expect(pegClasses(rig)).toBe(2)
    },
  },
  {
    faults: [
      ['frozen', 'okx'],
      ['dead', 'binance'],
    ],
    seconds: 40,
    expected: (rig) => expect(exchangesUsed(rig)).toBe(4),
  },
  {
    faults: [
      ['lies', 'okx'],
      ['lies', 'bybit'],
    ],
    seconds: 40,
    expected: (rig) => expect(pegClasses(rig)).toBe(3),
  },
  {
    faults: [
      ['dead', 'base'],
      ['dead', 'solana'],
    ],
    seconds: 75,
    expected: (rig) => {
      expect(freshChains(rig)).toBe(6)
      expect(answered(rig.arb)?.warnings).toContain('low_coverage')
      expect(stateOfSource(rig, 'pyth-solana'), 'is read from there').toBe('down')
    },
  },
  {
    faults: [
      ['stalled', 'ethereum'],
      ['dead', 'pyth-hermes'],
    ],
    seconds: 75,
    expected: (rig) => {
      expect(freshChains(rig)).toBe(7)
      expect(standIns).toContain(usedBy(rig, 'ETH'))
    },
  },
  {
    faults: [
      ['dead', 'base'],
      ['lies', 'coinbase'],
    ],
    seconds: 75,
    expected: (rig) => {
      expect(freshChains(rig)).toBe(7)
      expect(answered(rig.cexDex('ETH'))?.body.dex_name).toMatch(
        /^(ethereum|arbitrum)\/uniswap-v3$/,
      )
    },
  },
  {
    faults: [
      ['lies', 'pyth-hermes'],
      ['dead', 'chainlink'],
    ],
    seconds: 40,
    expected: (rig) => expect(whyNot(rig, 'ETH', 'pyth-hermes')).toBe('outvoted'),
  },
]

describe('in pairs', () => {
  test.each(
    pairs.map((pair) => [pair.faults.map((fault) => fault.join(' ')).join(', '), pair] as const),
  )('%s', (what, { faults, seconds, expected }) => {
    const rig = warmRig()
    for (const [fault, source] of faults) begin(rig, fault, source, seconds)
    hold(rig, seconds, what)
    expected(rig)
    backAgain(rig, what)
  })
})

/**
 * Known wrong answers. Each test passes while the answer is wrong and fails after a fix; then it moves to the
 * sections above.
 */
describe('errors without a second source of the same kind', () => {
  test('Kraken is wrong about USDC: the oracles are used, and Kraken is listed as disagreeing', () => {
    const rig = warmRig()
    begin(rig, 'lies', 'kraken', 30)
    hold(rig, 30, 'kraken lies')
    expect(answered(rig.depeg)).toMatchObject({ grade: 'C', warnings: ['low_coverage'] })
    expect(answered(rig.depeg)?.body.agreement).toMatchObject({
      disagreeing: ['exchange'],
      confirmed: false,
    })
    backAgain(rig, 'kraken lies')
  })

  test('the only network of a coin is wrong: it is refused because five exchanges agree', () => {
    const rig = new ExternalRig({ seed: SEED }).runUntil(WARM_MS)
    begin(rig, 'lies', 'redstone', 40)
    rig.runFor(30 * SECOND_MS)
    expect(wrongIn(rig)).toEqual([])
  })

  test('two of four sources are wrong about USDT: nothing is converted without further sources', () => {
    const rig = warmRig()
    begin(rig, 'lies', 'pyth-hermes', 30)
    begin(rig, 'lies', 'redstone', 30)
    rig.runFor(25 * SECOND_MS)
    expect(wrongIn(rig)).toEqual([])
  })
})

describe('missing inputs of an answer', () => {
  test('five fresh chains are enough, four are refused', () => {
    const rig = warmRig()
    for (const chain of ['base', 'solana', 'bsc'] as const) begin(rig, 'dead', chain, 120)
    secondsUntil(rig, () => freshChains(rig) === 5, 60, 'three chains dead')
    hold(rig, 10, 'three chains dead', () => freshChains(rig) === 5)
    begin(rig, 'dead', 'polygon', 60)
    secondsUntil(rig, () => refusal(rig.arb) === 'dex', 60, 'four chains dead')
    backAgain(rig, 'four chains dead')
  })

  test('two exchanges are enough, one is refused', () => {
    const rig = warmRig()
    for (const exchange of ['coinbase', 'okx', 'bybit'] as const) begin(rig, 'dead', exchange, 40)
    secondsUntil(rig, () => exchangesUsed(rig) === 2, 20, 'three exchanges dead')
    begin(rig, 'dead', 'kraken', 20)
    secondsUntil(rig, () => refusal(rig.cexDex('ETH')) === 'exchange', 20, 'four exchanges dead')
    expect(refusal(rig.cexDex('kPEPE'))).toBe('exchange')
    expect(usedBy(rig, 'ETH')).toBe('pyth-hermes')
    backAgain(rig, 'four exchanges dead')
  })

  test('all sources missing from the start: everything is refused until they are up', () => {
    const untilMs = RIG_START_MS + 60 * SECOND_MS
    const scenario = sourceIds.map((source): ScenarioEvent => {
      return { kind: 'dead', source, fromMs: RIG_START_MS, untilMs }
    })
    const rig = new ExternalRig({ seed: SEED, pythKey: 'any', scenario }).runUntil(30_000)
    const result = [rig.basis('ETH'), rig.cexDex('ETH'), rig.arb, rig.depeg]
    expect(result.map(refusal)).toEqual(['oracle', 'exchange', 'dex', 'usdc_price'])
    rig.runUntil(60_000)
    backAgain(rig, 'nobody is there')
    expect(answered(rig.depeg)?.body.flow).not.toBeNull()
    expect(stateOfSource(rig, 'fear-greed')).toBe('up')
  })

  test('all sources lost: streams are refused within two minutes, slow push feeds are used', () => {
    const rig = warmRig()
    for (const source of sourceIds) begin(rig, 'dead', source, 150)
    hold(rig, 148, 'all dead')
    expect([rig.cexDex('ETH'), rig.arb, rig.basis('kPEPE')].map(refusal)).toEqual([
      'exchange',
      'dex',
      'oracle',
    ])
    expect(usedBy(rig, 'ETH'), 'publishes once an hour').toBe('pyth-evm')
    expect(answered(rig.depeg)).toMatchObject({
      grade: 'C',
      warnings: ['low_coverage', 'feed_degraded'],
    })
    backAgain(rig, 'all dead')
  })
})

describe('a crash like that of March 2020', () => {
  const at = (seconds: number) => RIG_START_MS + seconds * SECOND_MS
  const during = (from: number, until: number) => ({ fromMs: at(from), untilMs: at(until) })
  /** Steps of 20 bps, ten seconds apart, both ways. */
  const walk = (fromBps: number, toBps: number, from: number, until: number): ScenarioEvent[] =>
    Array.from({ length: (toBps - fromBps) / 20 }, (_, step) => ({
      kind: 'depeg',
      asset: 'USDC',
      bps: -20,
      ...during(from + 10 * step, until - 10 * step),
    }))
  const unsure = ['pyth-hermes', 'pyth-solana', 'pyth-evm'] as const
  const scenario: ScenarioEvent[] = [
    { kind: 'crash', factor: 8, ...during(90, 900) },
    ...unsure.map((network): ScenarioEvent => {
      return { kind: 'confidence', network, factor: 60, ...during(100, 880) }
    }),
    { kind: 'stalled', source: 'polygon', ...during(120, 800) },
    { kind: 'stalled', source: 'avalanche', ...during(150, 800) },
    { kind: 'gap', chain: 'base', asset: 'ETH', bps: 90, ...during(180, 760) },
    { kind: 'gap', chain: 'bsc', asset: 'ETH', bps: -70, ...during(200, 750) },
    { kind: 'gap', chain: 'arbitrum', asset: 'BTC', bps: 80, ...during(240, 740) },
    { kind: 'gap', chain: 'optimism', asset: 'ETH', bps: 60, ...during(240, 740) },
    ...walk(0, 60, 180, 900),
    ...walk(60, 260, 500, 860),
  ]

  test('levels rise in order and fall one by one', () => {
    const rig = new ExternalRig({ seed: 7, pythKey: 'any', scenario })
    const seen: Record<'stress' | 'peg' | 'level', string[]> = { stress: [], peg: [], level: [] }
    const note = (name: keyof typeof seen, value: string) => {
      if (seen[name].at(-1) !== value) seen[name].push(value)
    }
    const sources = new Set<string>()
    // The faster of the two documents is rendered every five seconds.
    for (let seconds = 60; seconds <= 1_820; seconds += 5) {
      rig.runUntil(seconds * SECOND_MS)
      const [stress, peg] = [answered(rig.arb)?.body, answered(rig.depeg)?.body]
      assert(stress !== undefined && peg !== undefined, stateOf(rig))
      note('stress', stress.stress_level)
      note('peg', peg.usdc.peg_status)
      note('level', peg.level_name)
      sources.add(usedBy(rig, 'ETH') ?? 'none')
    }
    expect(seen).toEqual({
      stress: ['LOW', 'MODERATE', 'HIGH', 'MODERATE', 'LOW'],
      peg: ['HEALTHY', 'ELEVATED', 'WARNING', 'CRITICAL', 'WARNING', 'ELEVATED', 'HEALTHY'],
      level: ['pegged', 'watch', 'strained', 'severe', 'depeg', 'strained', 'pegged'],
    })
    // While Pyth is uncertain on all networks, the most accurate of the others is used.
    expect([...sources]).toEqual(['pyth-hermes', 'redstone', 'pyth-evm'])
    expect(usedBy(rig, 'ETH')).toBe('pyth-hermes')
  })
})
