/**
 * A line through values at equal distances, as SVG path data in a box of this size. A null leaves a gap; equal values
 * lie in the middle.
 */
export function sparklinePath(
  values: readonly (number | null)[],
  { width, height }: { readonly width: number; readonly height: number },
): string {
  const known = values.filter((value) => value !== null)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  const stepX = width / Math.max(1, values.length - 1)
  const yOf = (value: number) => (high === low ? 0.5 : (high - value) / (high - low)) * height
  return values
    .flatMap((value, at) => {
      if (value === null) return []
      const command = at > 0 && values[at - 1] !== null ? 'L' : 'M'
      return [`${command}${rounded(at * stepX)} ${rounded(yOf(value))}`]
    })
    .join('')
}

/** From the first to the last known value, percent; null without two. */
export function changePct(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  const [first] = known
  const last = known.at(-1)
  if (first === undefined || last === undefined || known.length < 2) return null
  return (last / first - 1) * 100
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
