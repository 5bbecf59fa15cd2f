import type { FaultLog } from './fault-log.ts'
import type { Findings } from './findings.ts'
import type { Answered } from './reading.ts'
import { read } from './reading.ts'
import type { Service } from './service.ts'
import { venueContracts } from './venue-contracts.ts'

/**
 * A crashed and restored engine publishes the same as one that was never interrupted. Both receive the
 * same venue at slightly different times, so each coin must agree once, not at every instant.
 */
export class TwinChecker {
  readonly #service: Service
  readonly #twin: Service
  /** Coins without agreement yet, and their latest difference. */
  readonly #open = new Map<string, string>()

  constructor(service: Service, twin: Service, coins: readonly string[]) {
    this.#service = service
    this.#twin = twin
    for (const coin of coins) this.#open.set(coin, 'never compared')
  }

  get isDone(): boolean {
    return this.#open.size === 0
  }

  compare(): void {
    for (const coin of this.#open.keys()) {
      const difference = this.#difference(coin)
      if (difference === null) this.#open.delete(coin)
      else this.#open.set(coin, difference)
    }
  }

  report(findings: Findings, log: FaultLog): void {
    const atMs = this.#service.machine.kernel.nowMs
    for (const [coin, detail] of this.#open) {
      if (log.mayBeLost(0, atMs, coin)) {
        findings.excuse('restored and uninterrupted differ, by frames lost or bent', 0)
        continue
      }
      findings.violation({
        checker: 'restored',
        atMs,
        coin,
        what: 'a restored engine says other than an uninterrupted one',
        detail,
        during: [],
      })
    }
  }

  #difference(coin: string): string | null {
    for (const analysis of venueContracts) {
      if (!comparable.has(analysis.id)) continue
      const view = analysis.id === 'pulse' ? '15m,1h,4h' : analysis.defaultView
      const one = read(this.#service, analysis, coin, view)
      const other = read(this.#twin, analysis, coin, view)
      if (one.kind !== 'answered' || other.kind !== 'answered') {
        if (one.kind === other.kind) continue
        return `${analysis.id}: ${one.kind} and ${other.kind}`
      }
      const [said, expected] = [figures(one), figures(other)]
      const differing = [...new Set([...said.keys(), ...expected.keys()])].filter(
        (path) => said.get(path) !== expected.get(path),
      )
      if (differing.length > 0)
        return differing
          .map(
            (path) => `${analysis.id}${path}: ${said.get(path)} instead of ${expected.get(path)}`,
          )
          .join(', ')
    }
    return null
  }
}

/**
 * Analyses computed from broadcast data alone. Others also depend on each service's own requests, of which
 * account and when, so two services never agree in every figure.
 */
const comparable: ReadonlySet<string> = new Set(['pulse', 'spread'])

/** Market figures of an answer, without times and names of its rendering. */
function figures({ body }: Answered): ReadonlyMap<string, unknown> {
  const { meta: _, ...about } = body
  return new Map(leavesOf(about))
}

/** All values other than objects, by path. */
function* leavesOf(value: unknown, path = ''): Generator<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) yield [path, value]
  else
    for (const [name, member] of Object.entries(value))
      if (!apart.has(name) && !apart.has(`${path}.${name}`))
        yield* leavesOf(member, `${path}.${name}`)
}

/**
 * By name or path: rendering times; counts of single trades, which the venue does not resend; and the regime, which
 * changes after several equal evaluations and misses those of an interruption. Its drivers are compared.
 */
const apart = new Set([
  'timestamp_iso',
  'candle_freshness_seconds',
  'as_of',
  'trade_costs',
  'vs_24h',
  'calibration',
  '.regime.current',
  '.regime.previous',
  '.regime.since',
])
