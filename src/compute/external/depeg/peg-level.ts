import { bps } from '../../render/significance.ts'

const MINUTE_MS = 60_000

/** Levels (`docs/numbers/depeg.md`): deviation and duration from which each is reached. */
export const pegLevels = [
  { name: 'pegged', fromBps: 0, neededMs: 0 },
  { name: 'watch', fromBps: 10, neededMs: 5 * MINUTE_MS },
  { name: 'strained', fromBps: 25, neededMs: 5 * MINUTE_MS },
  { name: 'depeg', fromBps: 100, neededMs: 5 * MINUTE_MS },
  { name: 'severe', fromBps: 200, neededMs: MINUTE_MS },
  { name: 'critical', fromBps: 500, neededMs: MINUTE_MS },
] as const

export const pegLevelNames = pegLevels.map(({ name }) => name)

/** Deviations whose duration is published. */
export const spellBps = [10, 25, 50, 100] as const

/** A level or spell ends after this time at less than half of its deviation. */
const CALM_MS = 15 * MINUTE_MS
/** A longer gap without a price ends every duration. */
export const PEG_GAP_MS_MAX = MINUTE_MS
/** A longer gap also resets the level. */
export const PEG_FORGOTTEN_MS = 120 * MINUTE_MS

/** Level of a deviation, as printed. */
export function bracketOf(exactBps: number): number {
  const distanceBps = bps(exactBps)
  return pegLevels.findLastIndex(({ fromBps }) => distanceBps >= fromBps)
}

/** Start of an uninterrupted condition; NaN while it does not hold. */
function since(wasMs: number, holds: boolean, nowMs: number): number {
  if (!holds) return Number.NaN
  return Number.isNaN(wasMs) ? nowMs : wasMs
}

type Spell = { readonly sinceMs: number; readonly calmSinceMs: number }

const NO_SPELL: Spell = { sinceMs: Number.NaN, calmSinceMs: Number.NaN }

/**
 * Level of a peg over time, and the duration of its deviation. A level is reached after an uninterrupted call for it,
 * and left after fifteen minutes below half of its threshold.
 */
export class PegLevel {
  #level = 0
  /** Start of the level, and last step. NaN before any. */
  #sinceMs = Number.NaN
  #lastMs = Number.NaN
  /** For each level above `pegged`: start of the call for it, and start of calm. */
  #calledMs: number[] = noInstants()
  #calmMs: number[] = noInstants()
  #spells: Spell[] = spellBps.map(() => NO_SPELL)

  get level(): number {
    return this.#level
  }

  get sinceMs(): number {
    return this.#sinceMs
  }

  /** Seconds since the price went beyond each of {@link spellBps}; 0 where it is not beyond it. */
  spellSeconds(): readonly number[] {
    return this.#spells.map(({ sinceMs }) =>
      Number.isNaN(sinceMs) ? 0 : (this.#lastMs - sinceMs) / 1_000,
    )
  }

  /**
   * @param exactBps adjusted deviation from one dollar, absolute; judged as printed
   * @param calledLevel level of this instant
   */
  step(nowMs: number, exactBps: number, calledLevel: number): void {
    const distanceBps = bps(exactBps)
    this.#continue(nowMs)
    for (const [at, { fromBps }] of pegLevels.slice(1).entries()) {
      this.#calledMs[at] = since(this.#calledMs[at] as number, calledLevel > at, nowMs)
      this.#calmMs[at] = since(this.#calmMs[at] as number, distanceBps < fromBps / 2, nowMs)
    }
    this.#spells = this.#spells.map((spell, at) =>
      nextSpell(spell, distanceBps, spellBps[at] as number, nowMs),
    )
    this.#move(nowMs)
  }

  save(): number[] {
    const spells = this.#spells.flatMap(({ sinceMs, calmSinceMs }) => [sinceMs, calmSinceMs])
    return [this.#level, this.#sinceMs, this.#lastMs, ...this.#calledMs, ...this.#calmMs, ...spells]
  }

  /** @returns false for numbers that {@link save} did not produce */
  restore(saved: ArrayLike<number>): boolean {
    const numbers = Array.from(saved)
    const [level = Number.NaN, sinceMs = Number.NaN, lastMs = Number.NaN, ...instants] = numbers
    if (numbers.length !== this.save().length || pegLevels[level] === undefined) return false
    const count = pegLevels.length - 1
    this.#level = level
    this.#sinceMs = sinceMs
    this.#lastMs = lastMs
    this.#calledMs = instants.slice(0, count)
    this.#calmMs = instants.slice(count, 2 * count)
    this.#spells = spellBps.map((_, at) => ({
      sinceMs: instants[2 * count + 2 * at] as number,
      calmSinceMs: instants[2 * count + 2 * at + 1] as number,
    }))
    return true
  }

  /** A gap, or a clock that was set back, ends every duration. */
  #continue(nowMs: number): void {
    const elapsedMs = nowMs - this.#lastMs
    this.#lastMs = nowMs
    if (elapsedMs >= 0 && elapsedMs <= PEG_GAP_MS_MAX) return
    this.#calledMs = noInstants()
    this.#calmMs = noInstants()
    this.#spells = spellBps.map(() => NO_SPELL)
    if (Math.abs(elapsedMs) <= PEG_FORGOTTEN_MS) return
    this.#level = 0
    this.#sinceMs = nowMs
  }

  #move(nowMs: number): void {
    const before = this.#level
    const reached = pegLevels.findLastIndex(
      ({ neededMs }, level) =>
        level === 0 || nowMs - (this.#calledMs[level - 1] as number) >= neededMs,
    )
    if (reached > before) this.#level = reached
    else
      while (this.#level > 0 && nowMs - (this.#calmMs[this.#level - 1] as number) >= CALM_MS)
        this.#level -= 1
    if (this.#level !== before) this.#sinceMs = nowMs
  }
}

function noInstants(): number[] {
  return pegLevels.slice(1).map(() => Number.NaN)
}

function nextSpell(spell: Spell, distanceBps: number, fromBps: number, nowMs: number): Spell {
  const sinceMs = Number.isNaN(spell.sinceMs)
    ? since(Number.NaN, distanceBps >= fromBps, nowMs)
    : spell.sinceMs
  const calmSinceMs = since(spell.calmSinceMs, distanceBps < fromBps / 2, nowMs)
  return nowMs - calmSinceMs >= CALM_MS ? NO_SPELL : { sinceMs, calmSinceMs }
}
