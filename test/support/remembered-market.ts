import assert from 'node:assert/strict'
import { catalog } from '../../src/simulator/market/catalog.ts'
import type { Market } from '../../src/simulator/market/market.ts'
import { seededMarket } from '../../src/simulator/market/seeded-market.ts'

/** The oracle price, which is what sources read, moves this often; the other prices are as of then. */
const STEP_MS = 3_000

/**
 * What simulated sources read of a market, each price computed once: their feeds look back over hours again and again.
 * @param coins all of the catalogue if absent; few keep the sources' messages small, and the first ones have most of them
 */
export function rememberedMarket({
  coins,
  ...options
}: {
  readonly seed: number
  readonly startMs: number
  readonly coins?: readonly string[]
}): Market {
  const rows = coins?.map((name) => catalog.findIndex(([coin]) => coin === name))
  const whole = seededMarket({ ...options, coins: rows && 1 + Math.max(...rows) })
  const listed = whole.universe()
  const universe =
    coins?.flatMap((name) => listed.find(({ coin }) => coin === name) ?? []) ?? listed
  const contexts = new Map<string, ReturnType<Market['context']>>()
  const context = (coin: string, atMs: number) => {
    const stepMs = Math.floor(atMs / STEP_MS) * STEP_MS
    const key = `${coin} ${stepMs}`
    if (!contexts.has(key)) contexts.set(key, whole.context(coin, stepMs))
    return contexts.get(key)
  }
  return new Proxy(whole, {
    get: (_, name: keyof Market) => {
      if (name === 'context') return context
      assert(name === 'universe', `no source reads ${name} of the market`)
      return () => universe
    },
  })
}
