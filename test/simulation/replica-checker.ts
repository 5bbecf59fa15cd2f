import { WHOLE_MARKET } from '../../src/domain/document.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import type { FaultLog } from './fault-log.ts'
import type { FaultKind } from './fault-script.ts'
import type { Findings } from './findings.ts'
import { AUDIT_MS } from './promises.ts'
import type { Answered } from './reading.ts'
import type { Service } from './service.ts'

/** What an engine says reaches readers within this time while their machine is awake. */
const CARRIED_MS = 100
/** A fault that hides something from an engine is found by it within this time. */
const REVISED_MS = 90_000
/** Faults that hide nothing. */
const harmless: ReadonlySet<FaultKind> = new Set([
  'duplicate-frames',
  'late-flat-bars',
  'list',
  'delist',
  'relist',
  'rest-429',
])

/** A frame that comes later than usual by more than this is dated by when it was sent, the one before by when it came. */
const DATED_MS = 1_000

/** Inputs that rest on all coins: it is the oldest of them that counts, and the coins change. */
const ofAllCoins: ReadonlySet<string> = new Set(['sentiment'])

/** Inputs that rest on candles. */
const ofCandles: ReadonlySet<string> = new Set(['candles', 'pulse'])

type Said = { readonly version: number; readonly atMs: number; readonly launch: number }

/** Readers get what the engine said last, and never again what it said before that. */
export class ReplicaChecker {
  readonly #findings: Findings
  readonly #log: FaultLog
  readonly #said = new Map<string, Said>()
  readonly #versions = new Map<string, number>()
  readonly #confirmed = new Map<
    string,
    { readonly confirmedMs: number; readonly readAtMs: number }
  >()
  /** Stretches of local time that a clock which was put back went through twice. */
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
      // Versions count by the clock, and who puts it back begins again.
      if (trueMs - this.#putBackAtMs <= REVISED_MS)
        this.#findings.excuse('a version went back with our clock', trueMs - this.#putBackAtMs)
      else this.#violation(trueMs, coin, 'a version went back', `${key}: ${before} to ${version}`)
    }
    if (key.endsWith(`/${WHOLE_MARKET}`)) return
    for (const [input, instant] of Object.entries(body.meta.as_of))
      if (!ofAllCoins.has(input))
        this.#checkConfirmed(`${key} ${view} ${input}`, Date.parse(instant), trueMs, coin)
  }

  /** @param toMs what our clock shows now */
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
    // It went back at some time since it was read last.
    const during = this.#log.kindsBetween(before.readAtMs - REVISED_MS, atMs, coin)
    // Whoever learns that it knows less than it thought has to say so, as has an engine that begins
    // again: it does where a clock that was put back is followed, a minute after the fault.
    const isAnew = this.#putBackAtMs >= before.readAtMs
    // A bar that a lost or bent frame made wrong is doubted once it was compared.
    const isDoubted =
      ofCandles.has(input) && this.#log.mayBeLost(before.readAtMs - AUDIT_MS, atMs, coin)
    // Contexts carry no names: until the longer universe was asked for, none tells that nobody traded.
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
