/** Channels that cover all coins with one subscription. */
export const marketChannels = ['fastAssetCtxs', 'allDexsAssetCtxs'] as const

export type MarketChannel = (typeof marketChannels)[number]

export type VenueSubscription =
  | { readonly type: MarketChannel }
  | { readonly type: 'trades' | 'l2Book' | 'bbo' | 'activeAssetCtx'; readonly coin: string }
  | { readonly type: 'candle'; readonly coin: string; readonly interval: '15m' }

/** A coin has one subscription per type, so type and coin identify it. */
export function subscriptionKey(type: string, coin: string | null): string {
  return coin === null ? type : `${type} ${coin}`
}

/** The subscriptions of every followed coin. */
export function coinSubscriptions(coin: string): readonly VenueSubscription[] {
  return [
    { type: 'candle', coin, interval: '15m' },
    { type: 'trades', coin },
    { type: 'l2Book', coin },
  ]
}

export const PING = JSON.stringify({ method: 'ping' })
