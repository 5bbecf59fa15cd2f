/** Texts of figures. A missing value is a dash, which screen readers skip. */
export const NOTHING = '–'

type Maybe = number | null | undefined

/** Significant digits, grouped, such as `77,424.5`. */
export function price(value: Maybe): string {
  return text(value, { maximumSignificantDigits: 8 })
}

export function percent(value: Maybe, digits = 2): string {
  return value == null ? NOTHING : `${fixed(value, digits)} %`
}

/** Whole percent of a share or a rank: 0 and 100 only for none and all, as labels of the answers have it. */
export function wholePercent(value: number): number {
  return value <= 0 || value >= 100 ? value : Math.min(99, Math.max(1, Math.round(value)))
}

/** Such as `57 %` of all coins. */
export function sharePercent(value: Maybe): string {
  return percent(value == null ? value : wholePercent(value), 0)
}

export function signedPercent(value: Maybe, digits = 2): string {
  return value == null ? NOTHING : `${signed(value, digits)} %`
}

export function bps(value: Maybe, digits = 2): string {
  return value == null ? NOTHING : `${fixed(value, digits)} bps`
}

export function signedBps(value: Maybe, digits = 2): string {
  return value == null ? NOTHING : `${signed(value, digits)} bps`
}

/** Compact, such as `$2.1B`. */
export function usd(value: Maybe): string {
  return text(value, {
    style: 'currency',
    currency: 'USD',
    notation: 'compact',
    maximumSignificantDigits: 3,
  })
}

export function count(value: Maybe): string {
  return text(value, { maximumFractionDigits: 0 })
}

export function plain(value: Maybe, digits = 2): string {
  return value == null ? NOTHING : fixed(value, digits)
}

export function signed(value: number, digits = 2): string {
  const shown = fixed(value, digits)
  return value > 0 && /[1-9]/.test(shown) ? `+${shown}` : shown
}

/** A word of the API, readable: `long_paying` as `long paying`. */
export function word(value: string | null | undefined): string {
  return value == null ? NOTHING : value.replaceAll('_', ' ').toLowerCase()
}

/** `0.4 s`, `12 s`, `3 min`, `5 h`, `2 d`. */
export function duration(ms: Maybe): string {
  if (ms == null) return NOTHING
  const seconds = ms / 1_000
  if (seconds < 10) return `${fixed(Math.max(0, seconds), 1)} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

/** Local date and time to the minute, such as `27 Nov 2026, 16:00`. */
export function instant(ms: number): string {
  return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' }).format(ms)
}

/** Local time of day with the day, such as `27 Nov, 16:00`. */
export function clockTime(ms: number): string {
  return clock.format(ms)
}

const clock = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})

/**
 * Local time of day on an axis, with seconds where the labels are less than a minute apart; at midnight the day.
 * Empty between two seconds.
 */
export function timeLabel(ms: number, stepMs: number): string {
  if (ms % 1_000 !== 0) return ''
  if (stepMs < 60_000) return withSeconds.format(ms)
  const at = new Date(ms)
  const isMidnight = at.getHours() === 0 && at.getMinutes() === 0
  return (isMidnight ? dayOnly : timeOnly).format(ms)
}

const dayOnly = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const withSeconds = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const timeOnly = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })

const formats = new Map<string, Intl.NumberFormat>()

function text(value: Maybe, options: Intl.NumberFormatOptions): string {
  if (value == null) return NOTHING
  const key = JSON.stringify(options)
  const format = formats.get(key) ?? new Intl.NumberFormat('en', options)
  formats.set(key, format)
  return format.format(value)
}

function fixed(value: number, digits: number): string {
  // Without the sign of a zero.
  const shown = text(value, { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return /^-[0.,]+$/.test(shown) ? shown.slice(1) : shown
}
