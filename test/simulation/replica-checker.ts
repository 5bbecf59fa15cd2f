import { WHOLE_MARKET } from '../../src/domain/document.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings } from './findings.ts'
import { AUDIT_MS } from './promises.ts'
import type { Answered } from './reading.ts'
import type { Service } from './service.ts'

/** A document reaches readers within this time while their machine is awake. */
const CARRIED_MS = 100
/** An engine detects a fault within this time. */
const REVISED_MS = 90_000
/** Faults without a loss of data. */
const harmless: ReadonlySet<FaultKind> = new Set([
  'duplicate-frames',
  'late-flat-bars',
  'list',
  'delist',
  'relist',
  'rest-429',
])

/** A frame delayed by more than this is dated by its sending, the frame before by its arrival. */
const DATED_MS = 1_000

/** Inputs from all coins: the oldest coin counts, and the set of coins changes. */
const ofAllCoins: ReadonlySet<string> = new Set(['sentiment'])

/** Inputs computed from candles. */
const ofCandles: ReadonlySet<string> = new Set(['candles', 'pulse'])

type Said = { readonly version: number; readonly atMs: number; readonly launch: number }

/** Readers get the engine's newest document and never an older one after it. */
export class ReplicaChecker {
  readonly #findings: Findings
  readonly #log: FaultLog
  readonly #said = new Map<string, Said>()
  readonly #versions = new Map<string, number>()
  readonly #confirmed = new Map<
    string,
    { readonly confirmedMs: number; readonly readAtMs: number }
  >()
  /** Intervals of local time that occurred twice because the clock was stepped back. */
  readonly #twice: { readonly fromMs: number; readonly untilMs: number }[] = []

  #putBackAtMs = Number.NEGATIVE_INFINITY

  constructor(findings: Findings, log: FaultLog) {
    this.#findings = findings
    this.#log = log
  }

  said(message: EngineMessage, { machine, launches }: Service): void {
    if (message.kind !== 'documents') return
    const atMs = machine.kernel.nowMs
    for (const { key, version } of message.documents) {
      const before = this.#said.get(key)
      if (before?.launch === launches && version < before.version)
        this.#violation(
          atMs,
          key,
          'an engine says what it said before',
          `${before.version}, then ${version}`,
        )
      this.#said.set(key, { version, atMs, launch: launches })
    }
  }

  read({ document, view, body, coin, trueMs }: Answered, { launches }: Service): void {
    const { key, version } = document
    const said = this.#said.get(key)
    const isDue = said !== undefined && said.launch === launches && trueMs - said.atMs > CARRIED_MS
    if (isDue && version !== said.version) {
      const detail = `${key}: version ${version} instead of ${said.version}`
      this.#violation(trueMs, coin, 'readers do not get what the engine said last', detail)
    }
    const before = this.#versions.get(key)
    this.#versions.set(key, version)
    if (before !== undefined && version < before) {
      // Versions follow the clock and restart after a backward step.
      if (trueMs - this.#putBackAtMs <= REVISED_MS)
        this.#findings.excuse('a version went back with our clock', trueMs - this.#putBackAtMs)
      else this.#violation(trueMs, coin, 'a version went back', `${key}: ${before} to ${version}`)
    }
    if (key.endsWith(`/${WHOLE_MARKET}`)) return
    for (const [input, instant] of Object.entries(body.meta.as_of))
      if (!ofAllCoins.has(input))
        this.#checkConfirmed(`${key} ${view} ${input}`, Date.parse(instant), trueMs, coin)
  }

  /** @param toMs current local time */
  clockPutBack(toMs: number, byMs: number, atMs: number): void {
    this.#putBackAtMs = atMs
    this.#twice.push({ fromMs: toMs, untilMs: toMs + byMs })
  }

  #checkConfirmed(key: string, confirmedMs: number, atMs: number, coin: string): void {
    const before = this.#confirmed.get(key)
    this.#confirmed.set(key, { confirmedMs, readAtMs: atMs })
    if (before === undefined || confirmedMs >= before.confirmedMs) return
    const isTwice = (timeMs: number) =>
      this.#twice.some(({ fromMs, untilMs }) => timeMs > fromMs && timeMs <= untilMs)
    if (isTwice(before.confirmedMs)) return
    const backMs = before.confirmedMs - confirmedMs
    const input = key.slice(key.lastIndexOf(' ') + 1).replace(/_.*/, '')
    if (backMs <= DATED_MS) {
      this.#findings.excuse(`as_of went back, as a late frame is dated: ${input}`, backMs)
      return
    }
    // The confirmation time went back at some time since the last reading.
    const during = this.#log.kindsBetween(before.readAtMs - REVISED_MS, atMs, coin)
    // An engine that finds its data incomplete must state an earlier time, and so must a restarted engine,
    // which happens a minute after the clock was stepped back.
    const isAnew = this.#putBackAtMs >= before.readAtMs
    // A bar made wrong by a lost or garbled frame loses its confirmation after the audit.
    const isDoubted =
      ofCandles.has(input) && this.#log.mayBeLost(before.readAtMs - AUDIT_MS, atMs, coin)
    // Contexts carry no names, so until the longer universe is loaded none confirms a bar without trades.
    const isUnread = ofCandles.has(input) && during.includes('list')
    if (isAnew || isUnread || isDoubted || during.some((kind) => !harmless.has(kind)))
      this.#findings.excuse(`as_of went back, after a fault: ${input}`, backMs)
    else this.#violation(atMs, coin, `as_of went back: ${input}`, `${key}: by ${backMs} ms`)
  }

  #violation(atMs: number, coin: string, what: string, detail: string): void {
    const during = this.#log.kindsBetween(atMs - 60_000, atMs, coin)
    this.#findings.violation({ checker: 'replica', atMs, coin, what, detail, during })
  }
}
