import { timeframeMs } from '../../../domain/timeframe.ts'

const DAY_HOURS = 24

/** Length of the candle behind one return. */
export const RETURN_MS = timeframeMs['1h']

/** Hourly log returns in the window of a correlation. */
export const WINDOW_HOURS = 30 * DAY_HOURS
export const SHORT_WINDOW_HOURS = DAY_HOURS

/** Ages of the earlier windows in `change`. */
export const DAY_AGO_HOURS = DAY_HOURS
export const WEEK_AGO_HOURS = 7 * DAY_HOURS

/** From the first return of the window that ended a week ago to the newest. */
export const RETURNS_READ = WINDOW_HOURS + WEEK_AGO_HOURS

/** Common hours needed for a correlation. */
export const COMMON_RETURNS_MIN = DAY_HOURS

/** Bounds the table of returns. The engine follows 322 coins at most (`docs/decisions/022-which-dexes.md`). */
export const CORRELATED_COINS_MAX = 512
