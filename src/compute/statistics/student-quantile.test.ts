import { expect, test } from 'vitest'
import { studentQuantile95 } from './student-quantile.ts'

// From scipy.stats.t.ppf(0.975, freedom), 1.17.1.
test.each([
  [2, 4.302652729749462],
  [2.3, 3.807163208232131],
  [2.7, 3.3921483831737507],
  [3, 3.1824463052837078],
  [3.5, 2.9400886379827282],
  [4, 2.7764451051977934],
  [5, 2.5705818356363146],
  [8, 2.306004135204166],
  [12, 2.1788128296672284],
  [50, 2.008559112100761],
  [10_000, 1.960201239890626],
])('with %d degrees of freedom 95 %% lie within %d', (freedom, quantile) => {
  expect(Math.abs(studentQuantile95(freedom) / quantile - 1)).toBeLessThan(5e-4)
})
