/**
 * The `d` of an SVG path through values at equal distances.
 * @returns '' for fewer than two values
 */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  if (values.length < 2) return ''
  const stepX = width / (values.length - 1)
  const scaleY = high === low ? 0 : height / (high - low)
  const points = values.map(
    (value, at) => `${round(at * stepX)},${round(height - (value - low) * scaleY)}`,
  )
  return `M${points.join('L')}`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
