import type { VenueChannel } from './channels.ts'

/** Channels that cover all coins with one subscription. */
export const marketChannels = ['fastAssetCtxs', 'allDexsAssetCtxs'] as const

export type MarketChannel = (typeof marketChannels)[number]

export type VenueSubscription = {
  readonly type: string
  readonly coin?: string
  readonly [parameter: string]: string
}

/** A coin has one subscription per type, so type and coin identify it. */
export function subscriptionKey(type: string, coin: string | null): string {
  return coin === null ? type : `${type} ${coin}`
}

/** The subscriptions of one coin. */
export function coinSubscriptions(
  coin: string,
  channels: readonly VenueChannel[],
): readonly VenueSubscription[] {
  return channels.map(({ name, parameters }) => ({ type: name, coin, ...parameters }))
}

export const PING = JSON.stringify({ method: 'ping' })
