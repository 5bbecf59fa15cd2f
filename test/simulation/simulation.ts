import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { pino } from 'pino'
import { REGIME_STEP_MS } from '../../src/compute/regime/regime-rule.ts'
import { ownDocuments } from '../../src/domain/placed-document.ts'
import { timeframeMs, timeframes } from '../../src/domain/timeframe.ts'
import type { EngineMessage } from '../../src/link/message.ts'
import type { VenueCadences } from '../../src/simulator/venue/limits.ts'
import { venueCadences, venueLimits } from '../../src/simulator/venue/limits.ts'
import { Venue } from '../../src/simulator/venue/venue.ts'
import { Beginnings } from './beginnings.ts'
import { Chance } from './chance.ts'
import { FaultLog } from './fault-log.ts'
import type { FaultKind, PlannedFault } from './fault-script.ts'
import { endMs, faultScript } from './fault-script.ts'
import type { Excused, Held, Violation } from './findings.ts'
import { Findings } from './findings.ts'
import type { Ailment } from './health.ts'
import { ailments } from './health.ts'
import { Kernel } from './kernel.ts'
import type { Peaks } from './limits-checker.ts'
import { LimitsChecker } from './limits-checker.ts'
import { Machine, withoutRealTime, withoutRealTimers } from './machine.ts'
import type { NetworkTap } from './network.ts'
import { Network } from './network.ts'
import { ObservedMarket } from './observed-market.ts'
import { AUDIT_MS, HEAL_MS, WARM_UP_MS } from './promises.ts'
import { read } from './reading.ts'
import { ReplicaChecker } from './replica-checker.ts'
import { RestartChecker } from './restart-checker.ts'
import { SanityChecker } from './sanity-checker.ts'
import { Service } from './service.ts'
import { TruthChecker } from './truth-checker.ts'
import { TwinChecker } from './twin-checker.ts'
import { venueContracts } from './venue-contracts.ts'

export type SimulationOptions = {
  readonly seed: number
  /** Duration after the warm-up in which faults begin. */
  readonly minutes: number
  readonly faults: number
  /** Number of listed coins at the start; all twenty if absent. */
  readonly coins?: number
  /** Kinds of faults; drawn if absent. */
  readonly kinds?: readonly FaultKind[]
  /** Called with each event and its true instant. */
  readonly onStory?: (atMs: number, text: string) => void
  readonly defect?: Defect
  /** Time for the twins to agree; if absent, as long as it takes in spite of faults. */
  readonly agreementMs?: number
  /** Start of a kind of violation; the run ends when such a violation is found. */
  readonly until?: string
}

/** A planted defect. */
export type Defect = {
  readonly onFrame?: NetworkTap['onFrame']
  /** @returns the message that the service sends instead. */
  readonly onMessage?: (text: string) => string
  readonly carried?: (message: EngineMessage) => EngineMessage | null
  readonly onSaid?: (message: EngineMessage) => void
  readonly onLaunch?: (dir: string) => void
  readonly onStart?: (venue: Venue) => void
}

/** Plain data, because it is sent between processes. */
export type SimulationResult = {
  readonly seed: number
  /** The first few of every kind; `counts` counts all of them. */
  readonly violations: readonly Violation[]
  readonly counts: Readonly<Record<string, number>>
  readonly excused: Readonly<Record<string, Excused>>
  /** Number of figures compared with the truth, by subject. */
  readonly held: Readonly<Record<string, Held>>
  readonly faults: { readonly [Kind in FaultKind]?: number }
  readonly peaks: Peaks
  readonly answers: number
  readonly refusals: Readonly<Record<string, number>>
  readonly launches: number
  /** Hash of all messages of the engine, in order. */
  readonly digest: string
  readonly warmUpMs: number
  /** Time from the end of the last fault to a healthy service; null if never. */
  readonly healedMs: number | null
  readonly virtualMs: number
}

/** Slower than the venue where that saves most, so that a second of real time simulates minutes. */
const CADENCES: VenueCadences = {
  ...venueCadences,
  blockMs: 500,
  activeAssetCtxMs: 5_000,
  fastAssetCtxsMs: 5_000,
}
const SERVICE = 'service'
/** Connected to the same venue and never interrupted by faults of its own. */
const TWIN = 'twin'
/** One seed of this many has a twin. */
const TWIN_SEEDS = 4

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
/**
 * Regime drivers are those of the last evaluation. During faults the twins may have had different prices, and one of
 * them may have lacked a candle that arrived at that moment. This may affect one evaluation, but hardly two in a
 * row.
 */
const TWIN_AGREEMENT_MS = 2 * REGIME_STEP_MS + MINUTE_MS
const DAY_MS = 24 * 60 * MINUTE_MS
const FIRST_DAY_MS = Date.UTC(2026, 5, 1)
const DAYS = 300
/** Typical length of the warm-up; usually a bar ends after it. */
const WARM_UP_GUESS_MS = 80_000
const READ_GAP_MS_MIN = 50
const READ_GAP_MS_MAX = 450
/** Period of the health check, and how long the service must stay healthy. */
const LOOK_MS = 5_000
/** Period of the summary of readings in the story. */
const SUMMARY_MS = 10_000
const WELL_MS = 10_000

const pulseViews = ['1h,4h', '15m,1h,4h', '15m', '1h', '4h']
const ALL_TIMEFRAMES = '15m,1h,4h'

/** One seed: a market, a service, faults and checkers, all in virtual time. */
export function simulate(options: SimulationOptions): SimulationResult {
  const dir = mkdtempSync(join(tmpdir(), 'perpscope-simulation-'))
  try {
    return withoutRealTimers(() => {
      const simulation = new Simulation(options, dir)
      return withoutRealTime(() => simulation.run())
    })
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

class Simulation {
  readonly #options: SimulationOptions
  readonly #startMs: number
  readonly #kernel: Kernel
  readonly #market: ObservedMarket
  readonly #venue: Venue
  readonly #network: Network
  readonly #service: Service
  readonly #twin: Service | null
  readonly #log = new FaultLog()
  readonly #findings: Findings
  readonly #truth: TruthChecker
  readonly #replica: ReplicaChecker
  readonly #sanity: SanityChecker
  readonly #limits: LimitsChecker
  readonly #restarts: RestartChecker
  readonly #beginnings = new Beginnings()
  readonly #twinBeginnings = new Beginnings()
  readonly #readers: Chance
  readonly #digest = createHash('sha1')
  readonly #refusals: Record<string, number> = {}
  #answers = 0
  #reported: Readonly<Record<string, number>> = {}

  constructor(options: SimulationOptions, dir: string) {
    const { seed, minutes, coins, defect = {} } = options
    this.#options = options
    this.#startMs = startOf(new Chance(seed, 'start'), minutes * MINUTE_MS)
    this.#kernel = new Kernel(this.#startMs)
    this.#readers = new Chance(seed, 'readers')
    this.#findings = new Findings(({ checker, what, detail }) =>
      this.#trace(`VIOLATION ${checker}: ${what}. ${detail}`),
    )
    this.#market = new ObservedMarket(seed, this.#startMs, coins)
    this.#venue = new Venue({
      market: this.#market,
      clock: this.#kernel.clock,
      limits: venueLimits,
      cadences: CADENCES,
    })
    this.#truth = new TruthChecker({
      market: this.#market,
      log: this.#log,
      findings: this.#findings,
      beginningsOf: this.#beginnings.of,
    })
    this.#replica = new ReplicaChecker(this.#findings, this.#log)
    this.#sanity = new SanityChecker(this.#findings, this.#log)
    this.#limits = new LimitsChecker(this.#findings, this.#log)
    this.#restarts = new RestartChecker(this.#findings, this.#log)
    this.#network = new Network({
      kernel: this.#kernel,
      venue: this.#venue,
      chance: new Chance(seed, 'network'),
      tap: this.#tap(defect),
    })
    this.#service = this.#newService(SERVICE, dir, {
      log: this.#logger(),
      onSaid: (message) => {
        defect.onSaid?.(message)
        this.#digestOf(message)
        this.#replica.said(message, this.#service)
      },
      ...(defect.carried ? { carried: defect.carried } : {}),
      onLaunch: (dir) => {
        if (this.#service.launches > 1) this.#restarts.relaunched(this.#kernel.nowMs)
        defect.onLaunch?.(dir)
      },
    })
    this.#twin =
      seed % TWIN_SEEDS === 0
        ? this.#newService(TWIN, dir, { log: silent, onSaid: () => {} })
        : null
    defect.onStart?.(this.#venue)
  }

  run(): SimulationResult {
    this.#kernel.clock.every(SECOND_MS, () =>
      this.#limits.check(this.#network.usageOf(SERVICE), this.#service),
    )
    this.#kernel.clock.every(SUMMARY_MS, () => this.#summarise())
    this.#readOn()
    const warmUpMs = this.#warmUp()
    const calmMs = this.#disturb()
    while (this.#kernel.nowMs < calmMs && !this.#isFound)
      this.#kernel.runUntil(Math.min(this.#kernel.nowMs + LOOK_MS, calmMs))
    this.#trace('nothing goes wrong any more')
    const healedMs = this.#heal(calmMs)
    this.#audit(calmMs)
    this.#compareTwins()
    this.#truth.finish(this.#kernel.nowMs)
    const virtualMs = this.#kernel.nowMs - this.#startMs
    this.#service.close()
    this.#twin?.close()
    this.#venue.close()
    return {
      seed: this.#options.seed,
      violations: this.#findings.violations,
      counts: this.#findings.counts,
      excused: this.#findings.excused,
      held: this.#findings.held,
      faults: this.#log.counts,
      peaks: this.#limits.peaks,
      answers: this.#answers,
      refusals: this.#refusals,
      launches: this.#service.launches,
      digest: this.#digest.digest('hex'),
      warmUpMs,
      healedMs,
      virtualMs,
    }
  }

  get #isFound(): boolean {
    const { until } = this.#options
    if (until === undefined) return false
    return Object.keys(this.#findings.counts).some((kind) => kind.startsWith(until))
  }

  /** Runs until every coin has a healthy answer. */
  #warmUp(): number {
    const untilMs = this.#startMs + WARM_UP_MS
    let ill = this.#ailments()
    while (ill.length > 0 && this.#kernel.nowMs < untilMs && !this.#isFound) {
      this.#kernel.runUntil(this.#kernel.nowMs + LOOK_MS)
      ill = this.#ailments()
    }
    if (!this.#isFound) this.#report('not warm in time', ill)
    const warmUpMs = this.#kernel.nowMs - this.#startMs
    this.#trace(`warm after ${warmUpMs / SECOND_MS} s`)
    return warmUpMs
  }

  /** @returns the end of the last fault. */
  #disturb(): number {
    const { seed, minutes, faults, kinds } = this.#options
    const fromMs = this.#kernel.nowMs
    const untilMs = fromMs + minutes * MINUTE_MS
    const script = faultScript(new Chance(seed, 'faults'), {
      fromMs,
      untilMs,
      faults,
      coins: this.#market.tradable(),
      ...(kinds === undefined ? {} : { kinds }),
    })
    for (const planned of script) this.#kernel.at(planned.atMs, null, () => this.#begin(planned))
    return script.reduce((lastMs, planned) => Math.max(lastMs, endMs(planned)), untilMs)
  }

  #begin(planned: PlannedFault): void {
    const { fault } = planned
    this.#trace(`FAULT ${JSON.stringify(fault)}`)
    this.#log.begin(planned)
    switch (fault.kind) {
      case 'engine-crash':
        this.#service.crashEngine()
        break
      case 'clock-step':
        this.#service.machine.stepClock(fault.byMs)
        this.#kernel.clock.after(fault.durationMs, () =>
          this.#service.machine.stepClock(-fault.byMs),
        )
        break
      case 'sleep':
        this.#service.machine.sleep(fault.durationMs)
        break
      case 'delist':
        this.#truth.forget(fault.coin)
        this.#venue.inject(fault)
        break
      default:
        this.#venue.inject(fault)
    }
  }

  /** @returns the time until the service was healthy; null if never. */
  #heal(calmMs: number): number | null {
    let wellSinceMs = Number.NaN
    while (!this.#isFound) {
      const { nowMs } = this.#kernel
      const ill = this.#ailments()
      if (ill.length > 0) wellSinceMs = Number.NaN
      else if (Number.isNaN(wellSinceMs)) wellSinceMs = nowMs
      if (nowMs - wellSinceMs >= WELL_MS) {
        this.#trace(`well ${(wellSinceMs - calmMs) / SECOND_MS} s after the last fault`)
        return wellSinceMs - calmMs
      }
      if (nowMs >= calmMs + HEAL_MS) {
        this.#report('not well in time', ill)
        return null
      }
      this.#kernel.runUntil(nowMs + LOOK_MS)
    }
    return null
  }

  /** Losses without a trace must also be detected and corrected. */
  #audit(calmMs: number): void {
    const untilMs = calmMs + AUDIT_MS + MINUTE_MS
    this.#readAll()
    while (this.#truth.wrongNow.length > 0 && this.#kernel.nowMs < untilMs && !this.#isFound) {
      this.#kernel.runUntil(this.#kernel.nowMs + LOOK_MS)
      this.#readAll()
    }
  }

  #compareTwins(): void {
    if (this.#twin === null || this.#isFound) return
    const comparable = this.#market
      .tradable()
      .filter((coin) => this.#beginnings.isSame(coin, this.#twinBeginnings))
    const twins = new TwinChecker(this.#service, this.#twin, comparable)
    const untilMs = this.#kernel.nowMs + (this.#options.agreementMs ?? TWIN_AGREEMENT_MS)
    for (twins.compare(); !twins.isDone && this.#kernel.nowMs < untilMs; twins.compare())
      this.#kernel.runUntil(this.#kernel.nowMs + SECOND_MS)
    twins.report(this.#findings, this.#log)
  }

  /** Adds the readings since the last summary to the story. */
  #summarise(): void {
    const got = { answers: this.#answers, ...this.#refusals }
    const news = Object.entries(got).flatMap(([what, count]) => {
      const fresh = count - (this.#reported[what] ?? 0)
      return fresh === 0 ? [] : [`${fresh} ${what}`]
    })
    this.#reported = got
    this.#trace(`readers got ${news.join(', ') || 'nothing'}`)
  }

  #ailments(): readonly Ailment[] {
    return ailments(this.#service, this.#network.usageOf(SERVICE), this.#market)
  }

  #report(what: string, ill: readonly Ailment[]): void {
    const atMs = this.#kernel.nowMs
    for (const { coin, ailment, detail } of ill)
      this.#findings.violation({
        checker: 'health',
        atMs,
        coin,
        what: `${what}: ${ailment}`,
        detail,
        during: this.#log.kindsBetween(atMs - HEAL_MS, atMs, coin ?? undefined),
      })
  }

  /** Readings at random instants, in different spellings. */
  #readOn(): void {
    const chance = this.#readers
    this.#kernel.clock.after(chance.integer(READ_GAP_MS_MIN, READ_GAP_MS_MAX), () => {
      this.#readOn()
      const analysis = chance.pick(venueContracts)
      const coin = chance.pick(this.#market.tradable())
      const ticker = chance.is(0.5) ? coin : coin.toLowerCase()
      const view = analysis.id === 'pulse' ? chance.pick(pulseViews) : analysis.defaultView
      if (!this.#service.machine.isAsleep) this.#read(analysis, coin, view, ticker)
    })
  }

  #readAll(): void {
    for (const coin of this.#market.tradable())
      for (const analysis of venueContracts)
        this.#read(analysis, coin, analysis.id === 'pulse' ? ALL_TIMEFRAMES : analysis.defaultView)
  }

  /** @param ticker the reader's spelling of the coin */
  #read(
    analysis: (typeof venueContracts)[number],
    coin: string,
    view: string,
    ticker = coin,
  ): void {
    const reading = read(this.#service, analysis, ticker, view)
    if (reading.kind === 'unreadable') {
      this.#sanity.unreadable(reading, this.#kernel.nowMs)
      return
    }
    if (reading.kind === 'refused') {
      this.#refusals[reading.reason] = (this.#refusals[reading.reason] ?? 0) + 1
      return
    }
    this.#answers += 1
    this.#replica.read(reading, this.#service)
    this.#sanity.check(reading, coin)
    this.#truth.check(reading)
  }

  #newService(
    name: string,
    dir: string,
    own: Pick<ConstructorParameters<typeof Service>[0], 'log' | 'onSaid' | 'carried' | 'onLaunch'>,
  ): Service {
    const { seed } = this.#options
    return new Service({
      machine: new Machine(this.#kernel, new Chance(seed, `${name} machine`)),
      network: this.#network,
      chance: new Chance(seed, `${name} process`),
      name,
      dir: join(dir, name),
      onDeath: (process, cause) => this.#died(`${name}'s ${process}`, cause),
      onNotice: (notice) => {
        this.#trace(`${name}: ${JSON.stringify(notice)}`)
        if (name === SERVICE && notice.kind === 'clock-followed' && notice.byMs < 0)
          this.#replica.clockPutBack(this.#service.nowMs, -notice.byMs, this.#kernel.nowMs)
      },
      ...own,
    })
  }

  #died(process: string, cause: unknown): void {
    const atMs = this.#kernel.nowMs
    const error = cause instanceof Error ? cause : new Error(String(cause))
    this.#findings.violation({
      checker: 'crash',
      atMs,
      coin: null,
      what: `${process} died: ${error.message.split('\n')[0]}`,
      detail: error.stack ?? error.message,
      during: this.#log.kindsBetween(atMs - MINUTE_MS, atMs),
    })
  }

  #tap(defect: Defect): NetworkTap {
    return {
      onMessage: (text, address) => {
        const sent = (address === SERVICE && defect.onMessage?.(text)) || text
        const coin = subscribedCoin(sent)
        if (coin !== null && this.#market.instrument(coin) === undefined)
          this.#limits.complaint(this.#kernel.nowMs, `${coin} is subscribed and unknown`)
        return sent
      },
      onFrame: (text, address) => {
        if (text.startsWith('{"channel":"error"')) this.#limits.complaint(this.#kernel.nowMs, text)
        return defect.onFrame && address === SERVICE ? defect.onFrame(text, address) : text
      },
      onRefused: (address) => this.#limits.complaint(this.#kernel.nowMs, `${address}: refused`),
      onRequest: (body, address) => {
        this.#trace(`${address} asks ${JSON.stringify(body)}`)
        if (address === TWIN) this.#twinBeginnings.asked(body)
        else {
          const coin = this.#beginnings.asked(body)
          if (coin !== null) this.#restarts.askedCold(coin, this.#kernel.nowMs)
        }
      },
      onTooMany: (body) =>
        this.#limits.complaint(this.#kernel.nowMs, `429 for ${JSON.stringify(body)}`),
    }
  }

  #digestOf(message: EngineMessage): void {
    if (message.kind !== 'documents') {
      this.#digest.update(JSON.stringify(message))
      return
    }
    for (const { key, version, bytes } of ownDocuments(message.documents))
      this.#digest.update(`${key} ${version} `).update(bytes)
  }

  #logger(): Logger {
    if (this.#options.onStory === undefined) return silent
    return pino(
      { level: 'debug', base: null, timestamp: false },
      { write: (line: string) => this.#trace(`engine: ${line.trim()}`) },
    )
  }

  #trace(text: string): void {
    this.#options.onStory?.(this.#kernel.nowMs, text)
  }
}

const silent = pino({ level: 'silent' })

/** A start shortly before the end of a bar of any timeframe, so that it falls into the run. */
function startOf(chance: Chance, durationMs: number): number {
  const stepMs = timeframeMs[chance.pick(timeframes)]
  const dayMs = FIRST_DAY_MS + chance.integer(0, DAYS) * DAY_MS
  const boundaryMs = dayMs + chance.integer(1, DAY_MS / stepMs) * stepMs
  // Sometimes it falls into the warm-up.
  return boundaryMs - chance.integer(0, WARM_UP_GUESS_MS + durationMs)
}

/** null if a message concerns all coins or none. */
function subscribedCoin(text: string): string | null {
  const message = JSON.parse(text) as { method?: string; subscription?: { coin?: string } }
  return (message.method === 'subscribe' && message.subscription?.coin) || null
}
