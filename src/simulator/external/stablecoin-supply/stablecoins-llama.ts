import type { Clock } from '../../../domain/clock.ts'
import { drift, noiseKey } from '../../market/noise.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Coin = {
  readonly id: string
  readonly name: string
  readonly symbol: string
  readonly pegType: 'peggedUSD' | 'peggedEUR'
  readonly tokens: number
}

/** Several tokens share a symbol; identifiers are unique. */
const COINS: readonly Coin[] = [
  { id: '1', name: 'Tether', symbol: 'USDT', pegType: 'peggedUSD', tokens: 182e9 },
  { id: '286', name: 'Bridged USDC', symbol: 'USDC', pegType: 'peggedUSD', tokens: 4e7 },
  { id: '2', name: 'USD Coin', symbol: 'USDC', pegType: 'peggedUSD', tokens: 74e9 },
  { id: '5', name: 'Dai', symbol: 'DAI', pegType: 'peggedUSD', tokens: 4.6e9 },
  { id: '50', name: 'Euro Coin', symbol: 'EURC', pegType: 'peggedEUR', tokens: 2.1e8 },
]

/** Largest drift of the supply from week to week. */
const WANDER = 0.006
/** Redemptions: at a deviation of 10 % the supply shrinks by 0.25 % per hour. */
const REDEEMED_AN_HOUR_PER_BPS = 2.5e-6

/** The list of stablecoins of DefiLlama, with a few rows. */
export function stablecoinsLlama(reference: ReferencePrices, clock: Clock): Upstream {
  const request = ({ path, query }: UpstreamRequest): UpstreamReply => {
    if (path !== '/stablecoins') return { status: 404, body: '{"message":"Not found"}' }
    const atMs = reference.newestMs('stablecoin-supply', clock.nowMs())
    const withPrices = query.get('includePrices') === 'true'
    const peggedAssets = COINS.map((coin) => {
      const supply = (backMs: number) => ({
        [coin.pegType]: tokensAt(reference, coin, atMs - backMs),
      })
      return {
        id: coin.id,
        name: coin.name,
        symbol: coin.symbol,
        gecko_id: coin.name.toLowerCase().replaceAll(' ', '-'),
        pegType: coin.pegType,
        pegMechanism: 'fiat-backed',
        priceSource: 'defillama',
        circulating: supply(0),
        circulatingPrevDay: supply(DAY_MS),
        circulatingPrevWeek: supply(7 * DAY_MS),
        circulatingPrevMonth: supply(30 * DAY_MS),
        chainCirculating: { Ethereum: { current: supply(0), circulatingPrevDay: supply(DAY_MS) } },
        chains: ['Ethereum'],
        ...(withPrices && {
          price: reference.seenUsd('stablecoin-supply', coin.symbol, atMs) ?? null,
        }),
      }
    })
    return { status: 200, body: JSON.stringify({ peggedAssets }) }
  }
  return { request }
}

function tokensAt(reference: ReferencePrices, { id, symbol, tokens }: Coin, atMs: number): number {
  const wander = WANDER * drift(noiseKey(reference.seed, 'supply', id), atMs / (7 * DAY_MS))
  const redeemed = reference.scenario.reduce((sum, event) => {
    if (event.kind !== 'depeg' || event.asset !== symbol) return sum
    const hours = (Math.min(atMs, event.untilMs) - event.fromMs) / HOUR_MS
    return sum + REDEEMED_AN_HOUR_PER_BPS * Math.abs(event.bps) * Math.max(0, hours)
  }, 0)
  return tokens * (1 + wander) * Math.exp(-redeemed)
}
