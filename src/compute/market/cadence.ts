/** Longest time between two whole books of a coin from a healthy venue. */
export const BOOK_CADENCE_MS = 6_000

/** The same for the figures of a coin: its slowest channel, with a margin. */
export const CONTEXT_CADENCE_MS = 15_000

/** Answers about the whole market leave out coins with older data. */
export const COIN_AGE_MS_MAX = 300_000
