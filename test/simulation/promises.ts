/**
 * What an answer promises, as numbers that a checker can hold it to. The venue of the simulation tells
 * what is 0.2 to 0.9 s old, in blocks of half a second, over a way of up to 66 ms.
 */

/**
 * By so much an answer may claim to be younger than what it tells: the above, and a second by which a
 * frame has to be late before it counts as held up.
 */
export const AGE_TOLERANCE_MS = 3_000

/** A bar is held open for the venue's last word on it, and rendered within a second after that. */
export const CLOSING_MS = 5_000

/**
 * A stream that falls silent without a word is noticed within these times; until
 * then an answer cannot know better.
 */
export const noticedWithinMs = {
  /** A connection whose far end is gone: a ping, and no pong. */
  connection: 37_000,
  /** A coin's book, which comes every 5.4 s: the coin's connection may be the cause, so a few more. */
  book: 25_000,
  /** A coin's candles, while its trades go on. */
  candles: 15_000,
  /** Both: only the day's volume tells of them, three times, every 13.6 s. */
  candlesAndTrades: 45_000,
} as const

/** That frames come late is noticed with the next one that bears a time: a book comes every 5.4 s. */
export const DELAY_NOTICED_MS = 7_000

/** What the stamps hide, a pong that comes as late tells; one is asked for every 20 s. */
export const PONG_NOTICED_MS = 20_000

/**
 * Wrong figures that came from frames which were lost or bent unnoticed are put right within this time:
 * one coin is compared with the venue's account every ten seconds, and begins anew where it differs.
 */
export const AUDIT_MS = 8 * 60_000

/**
 * What an analysis rests on is at most so old, by the name of the input, or nothing is sold: written
 * anew here, so that a limit which is lost there shows.
 */
export const inputAgeMsMax: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  spread: { book: 60_000 },
  liquidations: { mark: 60_000, open_interest: 300_000 },
  oi: { open_interest: 300_000, mark: 300_000 },
  funding: { funding: 300_000 },
  bundle: { spread: 60_000, funding: 300_000 },
}

/**
 * Of all figures about one subject at most this share may be wrong or too young, whatever the excuses: most runs have
 * less than a hundredth, for what is lost or bent is about some coins, and put right soon.
 */
export const wrongShareMax: Readonly<Record<string, number>> = {
  candles: 0.15,
  book: 0.05,
  context: 0.05,
  settlements: 0,
}

/** After the last fault everything is well again within this time: the longest back-off, and some more. */
export const HEAL_MS = 6 * 60_000

/** A cold start with twenty coins, within the venue's REST weight. */
export const WARM_UP_MS = 5 * 60_000

/** The venue's limits for one address. */
export const CONNECTIONS_MAX = 10
export const NEW_CONNECTIONS_PER_MINUTE_MAX = 30
export const SUBSCRIPTIONS_MAX = 1_000
export const MESSAGES_PER_MINUTE_MAX = 2_000
export const REST_WEIGHT_PER_MINUTE_MAX = 1_200

/** What may pile up inside of one engine, as far as it shows from outside. */
export const ENGINE_TIMERS_MAX = 64
export const OPEN_REQUESTS_MAX = 4
export const CHECKPOINT_BYTES_MAX = 16 * 1024 * 1024
