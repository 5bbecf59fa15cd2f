import type { Clock } from '../../../domain/clock.ts'
import { drift, noiseKey } from '../../market/noise.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'
import type { World } from '../world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

type Coin = {
  readonly id: string
  readonly name: string
  readonly symbol: string
  readonly pegType: 'peggedUSD' | 'peggedEUR'
  readonly tokens: number
}

/** Names and symbols come twice, numbers do not. */
const COINS: readonly Coin[] = [
  { id: '1', name: 'Tether', symbol: 'USDT', pegType: 'peggedUSD', tokens: 182e9 },
  { id: '286', name: 'Bridged USDC', symbol: 'USDC', pegType: 'peggedUSD', tokens: 4e7 },
  { id: '2', name: 'USD Coin', symbol: 'USDC', pegType: 'peggedUSD', tokens: 74e9 },
  { id: '5', name: 'Dai', symbol: 'DAI', pegType: 'peggedUSD', tokens: 4.6e9 },
  { id: '50', name: 'Euro Coin', symbol: 'EURC', pegType: 'peggedEUR', tokens: 2.1e8 },
]

/** Between two weeks the supply wanders by so much at most. */
const WANDER = 0.006
/** Holders redeem: a peg that is broken by 10 % loses a quarter of a per cent an hour. */
const REDEEMED_AN_HOUR_PER_BPS = 2.5e-6

/** DefiLlama's list of stablecoins, as far as anybody here reads it. */
export function stablecoinsLlama(world: World, clock: Clock): Upstream {
  const request = ({ path, query }: UpstreamRequest): UpstreamReply => {
    if (path !== '/stablecoins') return { status: 404, body: '{"message":"Not found"}' }
    const atMs = world.newestMs('stablecoin-supply', clock.nowMs())
    const withPrices = query.get('includePrices') === 'true'
    const peggedAssets = COINS.map((coin) => {
      const told = (backMs: number) => ({ [coin.pegType]: tokensAt(world, coin, atMs - backMs) })
      return {
        id: coin.id,
        name: coin.name,
        symbol: coin.symbol,
        gecko_id: coin.name.toLowerCase().replaceAll(' ', '-'),
        pegType: coin.pegType,
        pegMechanism: 'fiat-backed',
        priceSource: 'defillama',
        circulating: told(0),
        circulatingPrevDay: told(DAY_MS),
        circulatingPrevWeek: told(7 * DAY_MS),
        circulatingPrevMonth: told(30 * DAY_MS),
        chainCirculating: { Ethereum: { current: told(0), circulatingPrevDay: told(DAY_MS) } },
        chains: ['Ethereum'],
        ...(withPrices && { price: world.seenUsd('stablecoin-supply', coin.symbol, atMs) ?? null }),
      }
    })
    return { status: 200, body: JSON.stringify({ peggedAssets }) }
  }
  return { request }
}

function tokensAt(world: World, { id, symbol, tokens }: Coin, atMs: number): number {
  const wander = WANDER * drift(noiseKey(world.seed, 'supply', id), atMs / (7 * DAY_MS))
  const redeemed = world.happenings.reduce((sum, happening) => {
    if (happening.kind !== 'depeg' || happening.asset !== symbol) return sum
    const hours = (Math.min(atMs, happening.untilMs) - happening.fromMs) / HOUR_MS
    return sum + REDEEMED_AN_HOUR_PER_BPS * Math.abs(happening.bps) * Math.max(0, hours)
  }, 0)
  return tokens * (1 + wander) * Math.exp(-redeemed)
}
