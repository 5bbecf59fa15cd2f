/** Levels of `/depeg`, by the deviation from which they begin, basis points. */
export const pegLevels = [
  { name: 'pegged', fromBps: 0 },
  { name: 'watch', fromBps: 10 },
  { name: 'strained', fromBps: 25 },
  { name: 'depeg', fromBps: 100 },
  { name: 'severe', fromBps: 200 },
  { name: 'critical', fromBps: 500 },
] as const

/** Where the scale ends on both sides. */
const SCALE_END_BPS = 1_000

/**
 * Place of a deviation, 0 to 1, on a scale where each level has the same width, discounts on the left.
 * @param bps signed
 */
export function pegPosition(bps: number): number {
  const bounds = [...pegLevels.map(({ fromBps }) => fromBps), SCALE_END_BPS]
  const distance = Math.min(Math.abs(bps), SCALE_END_BPS)
  const level = Math.min(
    pegLevels.length - 1,
    bounds.findLastIndex((bound) => distance >= bound),
  )
  const [from = 0, to = 1] = bounds.slice(level)
  const share = (level + (distance - from) / (to - from)) / pegLevels.length
  return 0.5 + (Math.sign(bps) * share) / 2
}

/** From the widest discount to the widest premium. */
export const pegParts = [...[...pegLevels.entries()].reverse(), ...pegLevels.entries()].map(
  ([level, { name }]) => ({ name, level }),
)

/** Thresholds on both sides; every second one is minor. */
export const pegMarks = pegLevels.slice(1).flatMap(({ fromBps }, at) => {
  const isMinor = at % 2 === 1
  return [
    { at: pegPosition(-fromBps), text: `−${fromBps}`, isMinor },
    { at: pegPosition(fromBps), text: `${fromBps}`, isMinor },
  ]
})
