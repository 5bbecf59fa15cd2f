const DAY_HOURS = 24

/** Hourly log returns that a correlation is taken over. */
export const WINDOW_HOURS = 30 * DAY_HOURS
export const SHORT_WINDOW_HOURS = DAY_HOURS

/** The same window is also looked at as it was so long ago. */
export const DAY_AGO_HOURS = DAY_HOURS
export const WEEK_AGO_HOURS = 7 * DAY_HOURS

/** From the first return of the window of a week ago to the newest. */
export const RETURNS_READ = WINDOW_HOURS + WEEK_AGO_HOURS

/** Fewer common hours than a day of them say nothing about two coins. */
export const COMMON_RETURNS_MIN = DAY_HOURS

/** Coins that are correlated with one another; the first of the venue's list where it has more. */
export const COINS_MAX = 256

export const HOUR_MS = 3_600_000
