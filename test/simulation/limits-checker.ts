import type { FaultLog } from './fault-log.ts'
import type { Findings } from './findings.ts'
import type { Usage } from './network.ts'
import {
  CHECKPOINT_BYTES_MAX,
  CONNECTIONS_MAX,
  ENGINE_TIMERS_MAX,
  MESSAGES_PER_MINUTE_MAX,
  NEW_CONNECTIONS_PER_MINUTE_MAX,
  OPEN_REQUESTS_MAX,
  REST_WEIGHT_PER_MINUTE_MAX,
  SUBSCRIPTIONS_MAX,
} from './promises.ts'
import type { Service } from './service.ts'

const MINUTE_MS = 60_000
const ALREADY = '"data":"Already '
/** A subscription that the venue refused is requested again within this time; it may be unsubscribed before. */
const REGRANTED_MS = 60_000

/** Peak use of every limit. */
export type Peaks = { -readonly [Name in keyof typeof limits]: number }

const limits = {
  connections: CONNECTIONS_MAX,
  'new connections a minute': NEW_CONNECTIONS_PER_MINUTE_MAX,
  subscriptions: SUBSCRIPTIONS_MAX,
  'messages a minute': MESSAGES_PER_MINUTE_MAX,
  'REST weight a minute': REST_WEIGHT_PER_MINUTE_MAX,
  'open requests': OPEN_REQUESTS_MAX,
  'engine timers': ENGINE_TIMERS_MAX,
  'checkpoint bytes': CHECKPOINT_BYTES_MAX,
} as const

const ownLimits: ReadonlySet<string> = new Set([
  'open requests',
  'engine timers',
  'checkpoint bytes',
])

/** The venue's limits are never exceeded, and our resources stay within their bounds. */
export class LimitsChecker {
  readonly peaks: Peaks = {
    connections: 0,
    'new connections a minute': 0,
    subscriptions: 0,
    'messages a minute': 0,
    'REST weight a minute': 0,
    'open requests': 0,
    'engine timers': 0,
    'checkpoint bytes': 0,
  }
  readonly #findings: Findings
  readonly #log: FaultLog

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  /** Called every second. */
  check(usage: Usage, service: Service): void {
    const atMs = service.machine.kernel.nowMs
    const used: Peaks = {
      connections: usage.connectionsMost,
      'new connections a minute': inLastMinute(usage.connected, atMs),
      subscriptions: usage.subscriptionsMost,
      'messages a minute': inLastMinute(usage.messages, atMs),
      'REST weight a minute': inLastMinute(usage.weights, atMs),
      'open requests': usage.requestsOpenMost,
      'engine timers': service.engineTimers,
      'checkpoint bytes': service.checkpointBytes,
    }
    for (const name of Object.keys(limits) as (keyof Peaks)[]) {
      if (used[name] <= this.peaks[name]) continue
      this.peaks[name] = used[name]
      if (used[name] > limits[name]) this.#violation(atMs, name, `${used[name]} of ${limits[name]}`)
    }
  }

  /** The venue answered 429, refused a connection, or replied with an error to a message. */
  complaint(atMs: number, text: string): void {
    const during = this.#log.kindsBetween(atMs, atMs)
    if (text.startsWith('429') && during.includes('rest-429')) return
    const lately = this.#log.kindsBetween(atMs - REGRANTED_MS, atMs)
    // A subscription without a timely reply is requested again, or ended as if granted.
    if (text.includes(ALREADY) && (during.length > 0 || lately.includes('refuse-subscriptions')))
      this.#findings.excuse('asked once more what the venue had granted', 0)
    else this.#violation(atMs, 'the venue complained', text)
  }

  #violation(atMs: number, what: string, detail: string): void {
    const checker = ownLimits.has(what) ? 'bounds' : 'limits'
    const during = this.#log.kindsBetween(atMs - MINUTE_MS, atMs)
    this.#findings.violation({ checker, atMs, coin: null, what, detail, during })
  }
}

/** Sum of the last minute; drops older events. */
function inLastMinute(events: Usage['messages'], nowMs: number): number {
  const first = events.findIndex(({ atMs }) => atMs > nowMs - MINUTE_MS)
  events.splice(0, first === -1 ? events.length : first)
  return events.reduce((sum, { cost }) => sum + cost, 0)
}
