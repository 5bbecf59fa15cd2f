import { color } from '../shell/theme.ts'

/** Meaning of a color in a chart; the names of the tokens. */
export type ChartTone = 'accent' | 'up' | 'down' | 'warn' | 'muted' | 'text'

/** @param alpha 0 to 1 */
export function toneColor(tone: ChartTone | 'line' | 'surface' | 'raised', alpha = 1): string {
  const hex = color(tone)
  const [red, green, blue] = channelsOf(hex)
  return alpha === 1 ? hex : `rgb(${red} ${green} ${blue} / ${alpha})`
}

/** A color between two others. @param share 0 is the first, 1 the second */
export function mixColors(first: string, second: string, share: number): string {
  const [one, other] = [channelsOf(first), channelsOf(second)]
  const mixed = one.map((channel, at) => Math.round(channel + ((other[at] ?? 0) - channel) * share))
  return `rgb(${mixed.join(' ')})`
}

/** @param hex `#rrggbb` */
function channelsOf(hex: string): readonly number[] {
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16))
}
