/**
 * Reports of the operator's desk: plain JSON, from the admin port to its pages. Times are Unix ms, sums of money are
 * atomic units of USDC (millionths) as decimal text.
 */

/** How the service works; refreshed every second. */
export type HealthReport = {
  readonly nowMs: number
  readonly version: string
  /** Part of the service that this process is. */
  readonly role: 'all' | 'gateway' | 'engine'
  /** Start of this process. */
  readonly startedAtMs: number
  readonly engine: EngineFigures
  /** The venue first, then the external sources that are in use. */
  readonly sources: readonly SourceFigures[]
  /** Threads whose figures are known, the gateway first. */
  readonly threads: readonly ThreadFigures[]
  /** Resident memory of the whole process. */
  readonly residentBytes: number
  /** By analysis, in the order of the price list; computed every 5 s. */
  readonly documents: readonly DocumentFigures[]
  /** null in a process that serves no requests. */
  readonly requests: RequestFigures | null
  /** History on disk; null before the first report of the engine. */
  readonly store: StoreFigures | null
  /** null without a recording. */
  readonly recording: StateSince | null
  /** Disk of the data directory; null if it cannot be read. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null
  /** Preconditions of a sale, as at `/readyz`. */
  readonly checks: readonly CheckFigures[]
}

type EngineFigures = {
  readonly state: 'available' | 'silent' | 'unavailable'
  /** Start of its present run; null before its first heartbeat. */
  readonly startedAtMs: number | null
  /** Time since its last heartbeat, of which it sends one per second; null before the first. */
  readonly heartbeatAgeMs: number | null
  /** The venue's clock minus the engine's; null before the first book. */
  readonly venueAheadMs: number | null
}

/** A state with its reason, and the time of the last change. */
type StateSince = {
  readonly state: string
  /** null if the state needs none. */
  readonly reason: string | null
  readonly sinceMs: number
}

export type SourceFigures = StateSince & {
  /** `venue`, or the identifier of an external source. */
  readonly source: string
  /** Time since its newest data arrived; null if none has arrived yet. */
  readonly lagMs: number | null
  /** Lost connections since the start of the engine. */
  readonly reconnects: number
  /** Interruptions of its data other than lost connections since the start of the engine, such as a silent channel. */
  readonly gaps: number
  /** Number of its events since the start of the engine, by name. */
  readonly notices: Readonly<Record<string, number>>
}

type ThreadFigures = ThreadUsage & { readonly thread: 'gateway' | 'engine' }

/** Resource usage of one thread, which measures itself. */
export type ThreadUsage = {
  /** Delay of the event loop since the previous report; null before the first measurement. */
  readonly loopDelay: LoopDelay | null
  readonly heapUsedBytes: number
  readonly heapTotalBytes: number
  /** Size at which V8 ends the thread. */
  readonly heapLimitBytes: number
  /** Memory outside the heap, array buffers included. */
  readonly externalBytes: number
  readonly arrayBufferBytes: number
}

type LoopDelay = { readonly p50Ms: number; readonly p99Ms: number; readonly maxMs: number }

export type DocumentFigures = {
  readonly analysis: string
  /** Documents that exist, without those of coins that the analysis does not cover. */
  readonly documents: number
  /** Documents whose default answer can be sold now. */
  readonly answerable: number
  /** Median and maximum age of the answerable documents; null without one. */
  readonly medianAgeMs: number | null
  readonly worstAgeMs: number | null
  /** Subject of the oldest answer: a coin, or `*` for the whole market. */
  readonly worstSubject: string | null
  /** Number of answers by quality grade. */
  readonly grades: Readonly<Record<'A' | 'B' | 'C' | 'D', number>>
}

export type RequestFigures = {
  /** Length of the window; shorter after a start. */
  readonly windowMs: number
  /** By route, the busiest first. */
  readonly routes: readonly RouteFigures[]
}

export type RouteFigures = {
  /** Pattern of the route; `other` for unknown paths. */
  readonly route: string
  readonly requests: number
  /** Number of requests by HTTP status. */
  readonly statuses: Readonly<Record<string, number>>
  /** Upper bounds of the time until the response was sent, within 20 %. */
  readonly p50Ms: number
  readonly p99Ms: number
}

type StoreFigures = StateSince & {
  /** This and the next two count since the start of the engine. */
  readonly droppedRows: number
  readonly damagedBlocks: number
  readonly setAsideFiles: number
}

type CheckFigures = {
  readonly check: string
  /** null while it passes. */
  readonly fault: { readonly reason: string; readonly sinceMs: number } | null
}

/** What the service earns; refreshed every 10 s. */
export type MoneyReport = {
  readonly nowMs: number
  /** null if this process sells nothing. */
  readonly sales: SalesFigures | null
  /** Why there are no figures; null with figures. */
  readonly reason: string | null
}

export type SalesFigures = {
  /** Start of the window of earnings, buyers and losses: a midnight in UTC. */
  readonly sinceMs: number
  readonly earnings: readonly Earnings[]
  /** Since the start of this process, in the order of the price list. */
  readonly funnel: readonly FunnelFigures[]
  /** Refused calls and payments since the start of this process, the most frequent reason first. */
  readonly refusals: readonly { readonly reason: string; readonly count: number }[]
  /** Payments without a final outcome, whenever they began, and those that were lost within the window. */
  readonly unsettled: readonly UnsettledPayments[]
  /** Accounts that pay for settlements; empty if facilitators pay. */
  readonly gas: readonly GasFigures[]
  readonly buyers: BuyerFigures
  /** null if payment channels are off. */
  readonly channels: ChannelFigures | null
}

/** Settled payments of one UTC day, analysis and network. */
type Earnings = {
  /** Such as `2026-01-31`. */
  readonly day: string
  readonly route: string
  /** CAIP-2. */
  readonly network: string
  readonly payments: number
  readonly amountAtomic: string
}

type FunnelFigures = {
  readonly analysis: string
  readonly route: string
  /** Requests at the path, with or without payment. */
  readonly requests: number
  readonly quotes: number
  /** Sales whose payment was settled, or whose answer was sent before the transfer was final. */
  readonly sales: number
}

type UnsettledPayments = {
  readonly state: 'settling' | 'unknown' | 'unconfirmed' | 'lost'
  /** Time since the settlement began. */
  readonly age: 'minute' | 'hour' | 'day' | 'older'
  readonly payments: number
  readonly amountAtomic: string
}

export type GasFigures = {
  /** Native coin of the chain. */
  readonly coin: 'ETH' | 'SOL'
  /** Balance in `coin`; null while the node does not answer. */
  readonly left: number | null
  /** Sum of the decreases of the balance between readings since the start of this process. */
  readonly spent: number
}

type BuyerFigures = {
  /** Wallets with a settled payment in the window. */
  readonly count: number
  /** The largest by amount. */
  readonly largest: readonly {
    readonly payer: string
    readonly payments: number
    readonly amountAtomic: string
  }[]
}

export type ChannelFigures = {
  readonly open: number
  readonly claimableAtomic: string
  /** Those with the largest claims. */
  readonly largest: readonly {
    readonly id: string
    readonly payer: string
    readonly balanceAtomic: string
    readonly claimableAtomic: string
    /** Time of the oldest unclaimed voucher. */
    readonly sinceMs: number | null
  }[]
}

/** What the operator can change or look up; refreshed every 5 s. */
export type ControlReport = {
  readonly nowMs: number
  /** null if this process sells nothing. */
  readonly maintenance: { readonly isOn: boolean; readonly sinceMs: number } | null
  /** Whether the engine can be restarted from here. */
  readonly canRestartEngine: boolean
  readonly doctor: DoctorReport
  /** The last warnings and errors of the log, the newest first. */
  readonly warnings: readonly LogEntry[]
  readonly configuration: readonly ConfigurationEntry[]
}

/** The last run of `perpscope doctor` from the desk. */
export type DoctorReport = {
  readonly state: 'never' | 'running' | 'done' | 'failed'
  /** null before the first run. */
  readonly startedAtMs: number | null
  /** null before the first run ended. */
  readonly endedAtMs: number | null
  /** Why the last run has no result. */
  readonly failure: string | null
  /** Of the last run that has a result. */
  readonly findings: readonly DoctorFinding[]
}

export type DoctorFinding = {
  readonly check: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly found: string
  /** null if none is needed. */
  readonly advice: string | null
}

export type LogEntry = {
  readonly timeMs: number
  readonly level: 'warn' | 'error' | 'fatal'
  /** `perpscope`, or `engine`. */
  readonly part: string
  readonly message: string
  /** Other members of the line as JSON, cut to a bound. */
  readonly details: string
}

export type ConfigurationEntry = {
  /** Such as `--port`. */
  readonly option: string
  /** null if it has none. */
  readonly variable: string | null
  /** Shown value; null if it is not set. `set` for a secret, and a URL without path, query and user. */
  readonly value: string | null
  readonly origin: 'default' | 'variable' | 'file' | 'flag'
  /** Path and key of a file; null for other origins. */
  readonly place: string | null
}
