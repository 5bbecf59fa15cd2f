import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { SourceId } from '../src/domain/external.ts'
import { sourceIds } from '../src/domain/external.ts'
import type { ScenarioEvent } from '../src/simulator/external/scenario.ts'
import { ExternalRig, RIG_START_MS } from './support/external-rig.ts'
import type { Fault } from './support/faulted-rig.ts'
import {
  answered,
  backAgain,
  begin,
  exchangesUsed,
  freshChains,
  hold,
  pegClasses,
  refusal,
  SECOND_MS,
  SEED,
  secondsUntil,
  standIns,
  stateOf,
  stateOfSource,
  usedBy,
  warmRig,
  whyNot,
} from './support/faulted-rig.ts'

/**
 * Several sources killed, stalled and lying at once, up to all of them, from their protocols to the caller: the answer
 * degrades or is refused without its inputs, recovers, and is never wrong in between. The results are tabulated in
 * docs/external-faults.md.
 */

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
    seconds: 25,
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
    seconds: 25,
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
    seconds: 25,
    expected: (rig) => expect(pegClasses(rig)).toBe(3),
  },
  {
    faults: [
      ['dead', 'base'],
      ['dead', 'solana'],
    ],
    seconds: 50,
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
    seconds: 66,
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
    seconds: 60,
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
    seconds: 25,
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

describe('missing inputs of an answer', () => {
  test('five fresh chains are enough, four are refused', () => {
    const rig = warmRig()
    const three = ['base', 'solana', 'bsc'] as const
    const ends = three.map((chain) => begin(rig, 'dead', chain, 120))
    secondsUntil(rig, () => freshChains(rig) === 5, 60, 'three chains dead')
    hold(rig, 10, 'three chains dead', () => freshChains(rig) === 5)
    ends.push(begin(rig, 'dead', 'polygon', 60))
    secondsUntil(rig, () => refusal(rig.arb) === 'dex', 60, 'four chains dead')
    for (const end of ends) end()
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
    { kind: 'crash', factor: 8, ...during(30, 640) },
    ...unsure.map((network): ScenarioEvent => {
      return { kind: 'confidence', network, factor: 60, ...during(40, 620) }
    }),
    { kind: 'stalled', source: 'polygon', ...during(60, 560) },
    { kind: 'stalled', source: 'avalanche', ...during(90, 560) },
    { kind: 'gap', chain: 'base', asset: 'ETH', bps: 90, ...during(70, 520) },
    { kind: 'gap', chain: 'bsc', asset: 'ETH', bps: -70, ...during(90, 510) },
    { kind: 'gap', chain: 'arbitrum', asset: 'BTC', bps: 80, ...during(130, 500) },
    { kind: 'gap', chain: 'optimism', asset: 'ETH', bps: 60, ...during(130, 500) },
    // For the five minutes after which it is strained, and the one after which it is severe.
    ...walk(0, 60, 60, 640),
    ...walk(60, 260, 380, 610),
  ]

  test('levels rise in order and fall one by one', () => {
    const rig = new ExternalRig({ seed: 7, pythKey: 'any', scenario })
    const seen: Record<'stress' | 'peg' | 'level', string[]> = { stress: [], peg: [], level: [] }
    const note = (name: keyof typeof seen, value: string) => {
      if (seen[name].at(-1) !== value) seen[name].push(value)
    }
    const sources = new Set<string>()
    // The faster of the two documents is rendered every five seconds. A level is left after fifteen minutes of calm.
    for (let seconds = 15; seconds <= 1_560; seconds += 5) {
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
