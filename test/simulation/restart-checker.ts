import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings } from './findings.ts'

/** What an engine lacks after a start it asks for at once, as far as the venue's weight allows. */
const BEGINNING_MS = 60_000
/** One or two may have been listed, or doubted, shortly before. */
const COLD_COINS_MAX = 3
/** A checkpoint of a time that has not come yet, or is long over, is of unknown age. */
const clockFaults: readonly FaultKind[] = ['clock-step', 'sleep']
const CLOCK_MS = 300_000

/** An engine that is started again goes on from its checkpoint: it does not buy all history once more. */
export class RestartChecker {
  readonly #findings: Findings
  readonly #log: FaultLog
  #launchedMs = Number.NaN
  readonly #cold = new Set<string>()

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  /** An engine was started that is not the first. */
  relaunched(atMs: number): void {
    this.#launchedMs = atMs
    this.#cold.clear()
  }

  /** The engine asks for all history of a coin. */
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
