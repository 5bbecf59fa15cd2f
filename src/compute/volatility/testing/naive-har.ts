/** Median forecast of the variance of the next 24 hours, from closes up to one instant and from nothing else. */
export type NaiveForecast = { readonly rows: number; readonly hourVariance: number }

/**
 * The same model written from its definition: all rows from the start, regressors by summing, and the penalised
 * least squares as an ordinary one with a row sqrt(penalty x rows) for each slope, solved by QR (Gram-Schmidt).
 * @returns null where there are fewer rows than asked for, or no regressors at the end
 */
export function naiveHar(
  closes: readonly number[],
  penalty: number,
  rowsNeeded: number,
): NaiveForecast | null {
  const returns = closes.slice(1).map((close, at) => Math.log(close) - Math.log(closes[at] ?? 0))
  const rows: number[][] = []
  const targets: number[] = []
  for (let hour = 168; hour + 24 <= returns.length; hour += 1) {
    const row = regressors(returns.slice(0, hour))
    const target = logVariance(returns.slice(hour, hour + 24), 24)
    if (row === null || !Number.isFinite(target)) continue
    rows.push(row)
    targets.push(target)
  }
  const present = regressors(returns)
  if (rows.length < rowsNeeded || present === null) return null
  const centre = [0, 1, 2].map((field) => mean(rows.map((row) => row[field] ?? 0)))
  const level = mean(targets)
  const ridge = Math.sqrt(penalty * rows.length)
  const design = [
    ...rows.map((row) => row.map((value, field) => value - (centre[field] ?? 0))),
    ...[0, 1, 2].map((field) => [0, 1, 2].map((other) => (field === other ? ridge : 0))),
  ]
  const slopes = solveByQr(design, [...targets.map((target) => target - level), 0, 0, 0])
  const log = present.reduce(
    (sum, value, field) => sum + (value - (centre[field] ?? 0)) * (slopes[field] ?? 0),
    level,
  )
  return { rows: rows.length, hourVariance: Math.exp(log) }
}

/** Least squares of design x = targets by modified Gram-Schmidt: design = Q R, R x = Q' targets. */
export function solveByQr(
  design: readonly (readonly number[])[],
  targets: readonly number[],
): number[] {
  const width = design[0]?.length ?? 0
  const columns = Array.from({ length: width }, (_, field) => design.map((row) => row[field] ?? 0))
  const upper = columns.map(() => new Array<number>(width).fill(0))
  const projected: number[] = []
  for (const [field, column] of columns.entries()) {
    const norm = Math.hypot(...column)
    ;(upper[field] as number[])[field] = norm
    const unit = column.map((value) => value / norm)
    projected.push(dot(unit, targets))
    for (let later = field + 1; later < width; later += 1) {
      const other = columns[later] as number[]
      const share = dot(unit, other)
      ;(upper[field] as number[])[later] = share
      columns[later] = other.map((value, at) => value - share * (unit[at] ?? 0))
    }
  }
  const solved = new Array<number>(width).fill(0)
  for (let field = width - 1; field >= 0; field -= 1) {
    const row = upper[field] as number[]
    const rest = (projected[field] ?? 0) - dot(row.slice(field + 1), solved.slice(field + 1))
    solved[field] = rest / (row[field] ?? 0)
  }
  return solved
}

function regressors(returns: readonly number[]): number[] | null {
  if (returns.length < 168) return null
  const month = Math.min(720, returns.length)
  const row = [24, 168, month].map((hours) => logVariance(returns.slice(-hours), hours))
  return row.every(Number.isFinite) ? row : null
}

function logVariance(returns: readonly number[], hours: number): number {
  const known = returns.filter(Number.isFinite)
  return known.length < 0.75 * hours ? Number.NaN : Math.log(mean(known.map((move) => move * move)))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function dot(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0)
}
