/** Name of the pulse on all timeframes. */
export function pulseName(coin: string): string {
  return `/pulse/${encodeURIComponent(coin)}?timeframes=15m,1h,4h`
}

export function chartName(coin: string): string {
  return `/chart/${encodeURIComponent(coin)}`
}

export function liquidationsName(coin: string): string {
  return `/liquidations/${encodeURIComponent(coin)}`
}
