/** What the venue allows one address. Defaults are the venue's, September 2026. */
export type VenueLimits = {
  readonly connectionsMax: number
  readonly newConnectionsPerMinute: number
  readonly subscriptionsMax: number
  /** Different users whose channels are subscribed. */
  readonly usersMax: number
  readonly messagesPerMinute: number
  readonly pendingPostsMax: number
  readonly restWeightPerMinute: number
  /** A connection on which the server has sent nothing for so long is closed. */
  readonly silenceMs: number
}

export const venueLimits: VenueLimits = {
  connectionsMax: 10,
  newConnectionsPerMinute: 30,
  subscriptionsMax: 1000,
  usersMax: 10,
  messagesPerMinute: 2000,
  pendingPostsMax: 100,
  restWeightPerMinute: 1200,
  silenceMs: 60_000,
}

/** For several clients that share an address. */
export function limitsFor(clients: number, one: VenueLimits): VenueLimits {
  return {
    connectionsMax: clients * one.connectionsMax,
    newConnectionsPerMinute: clients * one.newConnectionsPerMinute,
    subscriptionsMax: clients * one.subscriptionsMax,
    usersMax: clients * one.usersMax,
    messagesPerMinute: clients * one.messagesPerMinute,
    pendingPostsMax: clients * one.pendingPostsMax,
    restWeightPerMinute: clients * one.restWeightPerMinute,
    silenceMs: one.silenceMs,
  }
}

/** How often each channel speaks. Defaults are the venue's, September 2026. */
export type VenueCadences = {
  /** Trades, candles and best prices are sent a block at a time. */
  readonly blockMs: number
  readonly l2BookMs: number
  readonly fastL2BookMs: number
  readonly activeAssetCtxMs: number
  readonly fastAssetCtxsMs: number
  readonly allDexsAssetCtxsMs: number
  readonly allMidsMs: number
  /** Time that a request over the websocket takes. */
  readonly postReplyMs: number
}

export const venueCadences: VenueCadences = {
  blockMs: 100,
  l2BookMs: 5400,
  fastL2BookMs: 540,
  activeAssetCtxMs: 1000,
  fastAssetCtxsMs: 1000,
  allDexsAssetCtxsMs: 13_600,
  allMidsMs: 5000,
  postReplyMs: 50,
}
