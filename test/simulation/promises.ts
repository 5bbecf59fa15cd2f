/**
 * Promises of answers as numbers for the checkers. The simulated venue publishes states that are 0.2 to
 * 0.9 s old, in blocks of half a second, with a latency of up to 66 ms.
 */

/**
 * How much younger than its data an answer may claim to be: the delays above, and the second by which a
 * frame must be late before it counts as delayed.
 */
export const AGE_TOLERANCE_MS = 3_000

/** A bar stays open for the venue's last update of it, and is rendered within a second after that. */
export const CLOSING_MS = 5_000

/**
 * A silent stream is detected within these times; until then an answer cannot
 * reflect it.
 */
export const noticedWithinMs = {
  /** A half-open connection: a ping without a pong. */
  connection: 37_000,
  /** A coin's book, sent every 5.4 s; several are awaited, because the connection may be the cause. */
  book: 25_000,
  /** A coin's candles, while its trades continue. */
  candles: 15_000,
  /** Both: detected by three rises of the day volume, 13.6 s apart. */
  candlesAndTrades: 45_000,
} as const

/** Late frames are detected with the next timestamped frame; a book is sent every 5.4 s. */
export const DELAY_NOTICED_MS = 7_000

/** A delay that timestamps hide is detected by a late pong; a ping is sent every 20 s. */
export const PONG_NOTICED_MS = 20_000

/**
 * Wrong figures from frames that were lost or garbled undetected are corrected within this time: every
 * ten seconds one coin is compared with the venue's data, and restarted if it differs.
 */
export const AUDIT_MS = 8 * 60_000

/**
 * Greatest age of each input, beyond which nothing is sold. Repeated here independently, so that a limit
 * lost in a contract is found.
 */
export const inputAgeMsMax: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  spread: { book: 60_000 },
  liquidations: { mark: 60_000, open_interest: 300_000 },
  oi: { open_interest: 300_000, mark: 300_000 },
  funding: { funding: 300_000 },
  bundle: { spread: 60_000, funding: 300_000 },
}

/**
 * Largest share of wrong or too young figures of one subject, including excused ones. Most runs have less than 1 %,
 * because losses affect few coins and are corrected soon.
 */
export const wrongShareMax: Readonly<Record<string, number>> = {
  candles: 0.15,
  book: 0.05,
  context: 0.05,
  settlements: 0,
}

/** The service is healthy this long after the last fault: the longest back-off plus a margin. */
export const HEAL_MS = 6 * 60_000

/** A cold start with twenty coins, within the venue's REST weight. */
export const WARM_UP_MS = 5 * 60_000

/** The venue's limits for one address. */
export const CONNECTIONS_MAX = 10
export const NEW_CONNECTIONS_PER_MINUTE_MAX = 30
export const SUBSCRIPTIONS_MAX = 1_000
export const MESSAGES_PER_MINUTE_MAX = 2_000
export const REST_WEIGHT_PER_MINUTE_MAX = 1_200

/** Bounds of an engine's resources that can be observed externally. */
export const ENGINE_TIMERS_MAX = 64
export const OPEN_REQUESTS_MAX = 4
export const CHECKPOINT_BYTES_MAX = 16 * 1024 * 1024
