import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import type { Chain, Exchange } from '../src/domain/external.ts'
import { chains, exchanges, oracleNetworks } from '../src/domain/external.ts'
import { ExternalRig, RIG_START_MS } from './support/external-rig.ts'
import {
  answered,
  BACK_SECONDS_MAX,
  backAgain,
  begin,
  exchangesUsed,
  freshChains,
  hold,
  isWhole,
  LIE_BPS,
  pegClasses,
  refusal,
  SECOND_MS,
  SEED,
  secondsUntil,
  standIns,
  stateOfSource,
  usedBy,
  WARM_MS,
  warmRig,
  whyNot,
  wrongIn,
} from './support/faulted-rig.ts'

/**
 * Each source killed, stalled and lying, alone, from its protocol to the caller: the answer degrades, names the
 * substitute and the reason, recovers, and is never wrong in between. The results are tabulated in
 * docs/external-faults.md.
 */

const otherNetworks = oracleNetworks.filter((network) => network !== 'pyth-hermes')

function exchangeWhyNot(rig: ExternalRig, exchange: Exchange): string | null {
  const venues = answered(rig.cexDex('ETH'))?.body.exchanges.venues ?? []
  return venues.find((row: { exchange: string }) => row.exchange === exchange)?.why_not ?? null
}

function isFresh(rig: ExternalRig, chain: Chain): boolean {
  const rows = answered(rig.arb)?.body.chains ?? []
  return rows.find((row: { chain: string }) => row.chain === chain)?.is_fresh ?? false
}

test('without faults every source is up and no answer is wrong', () => {
  const rig = warmRig()
  expect(isWhole(rig)).toBe(true)
  expect(rig.basis('PURR'), 'nobody outside knows it').toEqual({ status: 503, why: 'oracle' })
  hold(rig, 90, 'calm', () => isWhole(rig))
  expect(rig.basis('PURR')).toEqual({ status: 404, why: 'not-covered' })
  expect(refusal(rig.cexDex('PURR'))).toBe('404')
})

describe.each(['dead', 'stalled'] as const)('%s, each alone', (fault) => {
  test('Hermes: another network is used, and the answer states the reason', () => {
    const rig = warmRig()
    const what = `pyth-hermes ${fault}`
    const end = begin(rig, fault, 'pyth-hermes', 60)
    const stoodInFor = () =>
      standIns.some((network) => network === usedBy(rig, 'ETH')) &&
      usedBy(rig, 'kPEPE') === 'redstone'
    expect(secondsUntil(rig, stoodInFor, 60, what)).toBeLessThanOrEqual(15)
    expect(answered(rig.basis('ETH'))?.sources).toContain(usedBy(rig, 'ETH'))
    hold(rig, 20, what, stoodInFor)
    expect(whyNot(rig, 'ETH', 'pyth-hermes')).toBe('late')
    expect(stateOfSource(rig, 'pyth-hermes')).toBe('down')
    end()
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
      const end = begin(rig, fault, exchange, 25)
      const isWithout = () => exchangesUsed(rig) === exchanges.length - 1
      expect(secondsUntil(rig, isWithout, 25, what)).toBeLessThanOrEqual(8)
      expect(exchangeWhyNot(rig, exchange)).toBe('too_old')
      hold(rig, 12, what, isWithout)
      expect(stateOfSource(rig, exchange)).toBe('down')
      // Only Kraken trades USDC for USD.
      expect(pegClasses(rig)).toBe(exchange === 'kraken' ? 2 : 3)
      if (exchange === 'kraken')
        expect(answered(rig.depeg)).toMatchObject({ grade: 'C', warnings: ['low_coverage'] })
      end()
      backAgain(rig, what)
    }
  })

  test('every chain: seven others are fresh', () => {
    const rig = warmRig()
    for (const chain of chains) {
      const what = `${chain} ${fault}`
      const end = begin(rig, fault, chain, 66)
      secondsUntil(rig, () => freshChains(rig) === chains.length - 1, 66, what)
      expect(isFresh(rig, chain)).toBe(false)
      // For a moment another network may have the smaller error.
      const isHermes = () => usedBy(rig, 'ETH') === 'pyth-hermes'
      if (!isHermes()) secondsUntil(rig, isHermes, 5, what)
      // Its pool is used for some time after the chain has ceased to be fresh.
      const isElsewhere = () => !answered(rig.cexDex('ETH'))?.body.dex_name?.startsWith(`${chain}/`)
      if (!isElsewhere()) secondsUntil(rig, isElsewhere, 35, what)
      end()
      backAgain(rig, what)
    }
  })
})

test.each([
  { exchange: 'coinbase', seconds: 8 },
  { exchange: 'kraken', seconds: 8 },
  // It repeats its quotes, which are believed for a minute.
  { exchange: 'bybit', seconds: 70 },
] as const)(
  '$exchange halted: the quotes before the halt are not used after $seconds s, nor after a reconnection',
  ({ exchange, seconds }) => {
    const rig = warmRig()
    const what = `${exchange} halted`
    const end = begin(rig, 'halted', exchange, 170)
    const isWithout = () => exchangesUsed(rig) === exchanges.length - 1
    expect(secondsUntil(rig, isWithout, 80, what)).toBeLessThanOrEqual(seconds)
    expect(exchangeWhyNot(rig, exchange)).toBe('too_old')
    hold(rig, 90, what, isWithout)
    expect(stateOfSource(rig, exchange)).toBe('down')
    end()
    backAgain(rig, what)
  },
)

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
      const lie = { kind: 'offset', source: chain, asset: 'ETH', bps: LIE_BPS } as const
      const end = rig.happen(lie, 45 * SECOND_MS)
      const sold = () =>
        answered(rig.arb)?.body.opportunities.map((row: { sell_chain: string }) => row.sell_chain)
      const level = () => answered(rig.arb)?.body.stress_level
      secondsUntil(rig, () => sold().length > 0 && level() === 'MODERATE', 44, `${chain} lies`)
      expect([...new Set(sold())]).toEqual([chain])
      end()
      secondsUntil(rig, () => sold().length === 0 && level() === 'LOW', 40, `${chain} lied`)
    }
  })

  test.each([600, 60])(
    'a node whose blocks are %i s old is passed over, and its chain not fresh',
    (by) => {
      const [fromMs, untilMs] = [20, 80].map((seconds) => RIG_START_MS + seconds * SECOND_MS)
      assert(fromMs !== undefined && untilMs !== undefined)
      const behind = { source: 'base', byMs: by * SECOND_MS, fromMs, untilMs } as const
      const rig = warmRig({ behind })
      const what = `base ${by} s behind`
      secondsUntil(rig, () => !isFresh(rig, 'base'), 60, what)
      expect(freshChains(rig)).toBe(chains.length - 1)
      hold(rig, 20, what, () => !isFresh(rig, 'base'))
      backAgain(rig, what)
    },
  )
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
