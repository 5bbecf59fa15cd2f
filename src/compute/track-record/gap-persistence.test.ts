import { describe, expect, test } from 'vitest'
import { gapPersistence } from './gap-persistence.ts'

const DAY_MINUTES = 1_440
const QUARTER_MINUTES = 15
const QUARTER_MS = 900_000

describe('persistence of a gap', () => {
  test.each([3, 10, 60])(
    'with a half-life of %i minutes is stated as often as it happens',
    (halfLifeMinutes) => {
      const chance = normalOf(halfLifeMinutes)
      const kept = 0.5 ** (1 / halfLifeMinutes)
      const values = [0]
      while (values.length < 40 * DAY_MINUTES)
        values.push(5 * (1 - kept) + kept * (values.at(-1) ?? 0) + chance())
      let [stated, happened, control, count] = [0, 0, 0, 0]
      for (let at = DAY_MINUTES; at + QUARTER_MINUTES < values.length; at += 37) {
        const minutes = Float64Array.from(values.slice(at - DAY_MINUTES + 1, at + 1))
        const gap = values[at] ?? 0
        const persistence = gapPersistence(minutes, gap, QUARTER_MS)
        if (persistence === null) continue
        const later = values[at + QUARTER_MINUTES] ?? 0
        count += 1
        stated += persistence.probability
        control += persistence.control
        happened += Math.sign(gap) * later >= Math.abs(gap) / 2 ? 1 : 0
      }
      expect(count).toBeGreaterThan(1_000)
      expect(Math.abs(stated - happened) / count).toBeLessThan(0.05)
      if (halfLifeMinutes === 60) expect(happened / control).toBeGreaterThan(1.2)
    },
  )

  test('is not stated without a half-life, without enough minutes, or for no gap', () => {
    const rising = Float64Array.from({ length: DAY_MINUTES }, (_, at) => 1.01 ** at)
    expect(gapPersistence(rising, 10, QUARTER_MS)).toBeNull()
    const few = new Float64Array(DAY_MINUTES).fill(Number.NaN).fill(3, 0, 200)
    expect(gapPersistence(few, 10, QUARTER_MS)).toBeNull()
    const noise = normalOf(1)
    const calm = Float64Array.from({ length: DAY_MINUTES }, () => noise())
    expect(gapPersistence(calm, 0, QUARTER_MS)).toBeNull()
  })
})

/** Standard normal values: the sum of twelve uniform ones, of a linear congruential generator. */
function normalOf(seed: number): () => number {
  let state = seed >>> 0
  const uniform = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return () => Array.from({ length: 12 }, uniform).reduce((sum, one) => sum + one, -6)
}
