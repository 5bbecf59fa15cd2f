import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings } from './findings.ts'

/** A started engine requests missing history within this time, as far as the venue's request weight allows. */
const BEGINNING_MS = 60_000
/** A few coins may have been listed, or distrusted after an audit, shortly before. */
const COLD_COINS_MAX = 3
/** The age of a checkpoint is unknown if its time is in the future or long past. */
const clockFaults: readonly FaultKind[] = ['clock-step', 'sleep']
const CLOCK_MS = 300_000

/** A restarted engine continues from its checkpoint and does not request all history again. */
export class RestartChecker {
  readonly #findings: Findings
  readonly #log: FaultLog
  #launchedMs = Number.NaN
  readonly #cold = new Set<string>()

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  /** An engine other than the first was started. */
  relaunched(atMs: number): void {
    this.#launchedMs = atMs
    this.#cold.clear()
  }

  /** The engine requests the full history of a coin. */
  askedCold(coin: string, atMs: number): void {
    if (!(atMs - this.#launchedMs <= BEGINNING_MS)) return
    this.#cold.add(coin)
    if (this.#cold.size !== COLD_COINS_MAX + 1) return
    const during = this.#log.kindsBetween(atMs - CLOCK_MS, atMs)
    if (during.some((kind) => clockFaults.includes(kind))) {
      this.#findings.excuse(
        'began without its checkpoint, by a clock that was not to be trusted',
        0,
      )
      return
    }
    this.#findings.violation({
      checker: 'restored',
      atMs,
      coin: null,
      what: 'an engine began without its checkpoint',
      detail: `it asks for all history of ${[...this.#cold].join(', ')}`,
      during,
    })
  }
}
