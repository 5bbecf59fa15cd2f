const MINUTE_MS = 60_000

/** Levels (`docs/numbers/depeg.md`): from how many bps on, and for how long before it is believed. */
export const pegLevels = [
  { name: 'pegged', fromBps: 0, neededMs: 0 },
  { name: 'watch', fromBps: 10, neededMs: 5 * MINUTE_MS },
  { name: 'strained', fromBps: 25, neededMs: 5 * MINUTE_MS },
  { name: 'depeg', fromBps: 100, neededMs: 5 * MINUTE_MS },
  { name: 'severe', fromBps: 200, neededMs: MINUTE_MS },
  { name: 'critical', fromBps: 500, neededMs: MINUTE_MS },
] as const

export const pegLevelNames = pegLevels.map(({ name }) => name)

/** How long a price has been beyond each of these is told. */
export const spellBps = [10, 25, 50, 100] as const

/** A level, or a spell, ends after so long at less than half of what it began with. */
const CALM_MS = 15 * MINUTE_MS
/** After so long without a price nothing counts as having lasted ... */
export const PEG_GAP_MS_MAX = MINUTE_MS
/** ... and after so long nothing of before is continued. */
export const PEG_FORGOTTEN_MS = 120 * MINUTE_MS

/** The level whose range a distance lies in. */
export function bracketOf(distanceBps: number): number {
  return pegLevels.findLastIndex(({ fromBps }) => distanceBps >= fromBps)
}

/** Since when something holds without a break; NaN while it does not. */
function since(wasMs: number, holds: boolean, nowMs: number): number {
  if (!holds) return Number.NaN
  return Number.isNaN(wasMs) ? nowMs : wasMs
}

type Spell = { readonly sinceMs: number; readonly calmSinceMs: number }

const NO_SPELL: Spell = { sinceMs: Number.NaN, calmSinceMs: Number.NaN }

/**
 * The level of a peg over time, and how long it has been off. A level is reached once it was called for long
 * enough without a break, and left after fifteen minutes below half of its threshold.
 */
export class PegLevel {
  #level = 0
  /** When the level began, and when it was last looked at. NaN before any. */
  #sinceMs = Number.NaN
  #lastMs = Number.NaN
  /** By level, without the one of no deviation: since when it is called for, and since when it is calm. */
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
   * @param distanceBps from a dollar, adjusted, without its sign
   * @param calledLevel the level that this instant calls for
   */
  step(nowMs: number, distanceBps: number, calledLevel: number): void {
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

  /** @returns false for numbers that {@link save} did not give */
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

  /** What lasted before a gap, or before the clock was put back, is not known to have lasted. */
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
