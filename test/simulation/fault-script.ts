import type { NewListing } from '../../src/simulator/market/market.ts'
import type { VenueFault } from '../../src/simulator/venue/fault.ts'
import { coinChannels } from '../../src/simulator/venue/fault.ts'
import type { Chance } from './chance.ts'

/** Faults of our own process and machine. */
type OwnFault =
  /** The engine dies as by SIGKILL; only its files survive. */
  | { readonly kind: 'engine-crash' }
  /** The local clock is stepped for a while, then corrected. */
  | { readonly kind: 'clock-step'; readonly byMs: number; readonly durationMs: number }
  /** The machine sleeps: frames queue up, timers are late. */
  | { readonly kind: 'sleep'; readonly durationMs: number }

export type SimulatedFault = VenueFault | OwnFault

export type FaultKind = SimulatedFault['kind']

export type PlannedFault = { readonly atMs: number; readonly fault: SimulatedFault }

type Maker = {
  readonly weight: number
  /** Most faults of this kind in a run; more of some kinds would hide all others. */
  readonly most: number
  /** @returns null without a remaining target. */
  readonly make: (chance: Chance, universe: Universe) => SimulatedFault | null
}

type Universe = { readonly traded: string[]; readonly unlisted: string[] }

/** Least number of coins that stay listed. */
const COINS_MIN = 12
/** Share of kinds in a run; all together would hide each other's effects. */
const KIND_SHARE = 0.5
const ALL_KINDS_SHARE = 0.2
const ENDLESS_KINDS_MIN = 2
/** Share of runs without traceless faults, since a lost frame excuses wrong candles for minutes. */
const TRACED_SHARE = 0.3
/** Share of connection faults that affect a single connection. */
const ONE_CONNECTION_SHARE = 0.6
/** Sockets of the feed and of a twin. */
const CONNECTIONS = 6
/** Periods without new faults, in which recovery can be checked. */
const CALMS = 3
const CALM_MS = 30_000

const anyNumber = Number.POSITIVE_INFINITY

const makers: Readonly<Record<FaultKind, Maker>> = {
  'drop-connections': {
    weight: 10,
    most: 20,
    make: (chance) => ({ kind: 'drop-connections', ...oneConnection(chance) }),
  },
  'refuse-connections': {
    weight: 5,
    most: 6,
    make: (chance) => ({ kind: 'refuse-connections', durationMs: chance.integer(2_000, 25_000) }),
  },
  'refuse-subscriptions': {
    weight: 4,
    most: 6,
    // The limits checker counts every error text as a complaint.
    make: (chance) => ({
      kind: 'refuse-subscriptions',
      how: 'silent',
      durationMs: chance.integer(2_000, 20_000),
    }),
  },
  'half-open': {
    weight: 5,
    most: 8,
    make: (chance) => ({
      kind: 'half-open',
      durationMs: chance.integer(5_000, 70_000),
      ...oneConnection(chance),
    }),
  },
  stall: {
    weight: 10,
    most: 25,
    make: (chance, { traded }) => {
      const channels = coinChannels.filter(() => chance.is(0.5))
      return {
        kind: 'stall',
        coin: chance.pick(traded),
        durationMs: chance.integer(5_000, 90_000),
        ...(channels.length === 0 || chance.is(0.5) ? {} : { channels }),
      }
    },
  },
  'drop-frames': { weight: 12, most: anyNumber, make: frames('drop-frames') },
  'duplicate-frames': { weight: 12, most: anyNumber, make: frames('duplicate-frames') },
  'reorder-frames': { weight: 12, most: anyNumber, make: frames('reorder-frames') },
  'garble-frames': { weight: 12, most: anyNumber, make: frames('garble-frames') },
  'delay-frames': {
    weight: 8,
    most: 20,
    make: (chance) => ({
      kind: 'delay-frames',
      durationMs: chance.integer(2_000, 20_000),
      delayMs: chance.integer(300, 12_000),
      ...oneConnection(chance),
    }),
  },
  'rest-429': {
    weight: 5,
    most: 8,
    make: (chance) => ({ kind: 'rest-429', durationMs: chance.integer(2_000, 25_000) }),
  },
  'rest-outage': {
    weight: 7,
    most: 12,
    make: (chance) => ({
      kind: 'rest-outage',
      durationMs: chance.integer(2_000, 30_000),
      how: chance.pick(['500', 'hang', 'garbage'] as const),
    }),
  },
  'late-flat-bars': {
    weight: 8,
    most: anyNumber,
    make: (chance) => ({ kind: 'late-flat-bars', durationMs: chance.integer(5_000, 90_000) }),
  },
  list: {
    weight: 4,
    most: 3,
    make: (chance, { traded, unlisted }) => {
      const coin = unlisted.pop()
      if (coin === undefined) return null
      traded.push(coin)
      return { kind: 'list', listing: newListing(chance, coin) }
    },
  },
  delist: {
    weight: 3,
    most: 3,
    make: (chance, { traded }) => {
      if (traded.length <= COINS_MIN) return null
      const coin = chance.pick(traded)
      traded.splice(traded.indexOf(coin), 1)
      return { kind: 'delist', coin }
    },
  },
  relist: {
    weight: 3,
    most: 3,
    make: (chance, { traded }) => ({ kind: 'relist', coin: chance.pick(traded) }),
  },
  'clock-skew': {
    weight: 5,
    most: 10,
    make: (chance) => ({
      kind: 'clock-skew',
      offsetMs: sign(chance) * chance.integer(500, 30_000),
      durationMs: chance.integer(5_000, 60_000),
    }),
  },
  'engine-crash': { weight: 5, most: 8, make: () => ({ kind: 'engine-crash' }) },
  'clock-step': {
    weight: 3,
    most: 4,
    make: (chance) => ({
      kind: 'clock-step',
      byMs: sign(chance) * chance.integer(2_000, 300_000),
      durationMs: chance.integer(3_000, 180_000),
    }),
  },
  sleep: {
    weight: 2,
    most: 2,
    make: (chance) => ({ kind: 'sleep', durationMs: chance.integer(20_000, 120_000) }),
  },
}

/** All kinds of faults, in the order of the report. */
export const faultKinds = Object.keys(makers) as readonly FaultKind[]

/** Kinds that lose or garble frames without a trace in later frames. */
const tracelessKinds: ReadonlySet<FaultKind> = new Set([
  'drop-frames',
  'reorder-frames',
  'garble-frames',
  // A short stall ends before it can be detected.
  'stall',
  // REST replies with garbage.
  'rest-outage',
])
const tracedKinds = faultKinds.filter((kind) => !tracelessKinds.has(kind))

/** Draws the faults between two instants: overlapping, in bursts, with calms between. */
export function faultScript(
  chance: Chance,
  options: {
    readonly fromMs: number
    readonly untilMs: number
    readonly faults: number
    /** Coins that trade at the start. */
    readonly coins: readonly string[]
    /** If absent: a random half of all kinds, or all. */
    readonly kinds?: readonly FaultKind[]
  },
): readonly PlannedFault[] {
  const kinds = options.kinds ?? someKinds(chance)
  const universe: Universe = { traded: [...options.coins], unlisted: ['1NEW', 'kNEW', 'NEW'] }
  const made = new Map<FaultKind, number>()
  const script: PlannedFault[] = []
  for (const atMs of instants(chance, options)) {
    const kind = pickKind(chance, kinds, made)
    if (kind === undefined) break
    made.set(kind, (made.get(kind) ?? 0) + 1)
    const fault = makers[kind].make(chance, universe)
    if (fault !== null) script.push({ atMs, fault })
  }
  return script
}

/** End of a fault; its own instant for a fault without duration. */
export function endMs({ atMs, fault }: PlannedFault): number {
  return 'durationMs' in fault ? atMs + fault.durationMs : atMs
}

/** Whether a fault loses or garbles frames without a trace in later frames. */
export function isTraceless(fault: SimulatedFault): boolean {
  return (
    tracelessKinds.has(fault.kind) && !(fault.kind === 'rest-outage' && fault.how !== 'garbage')
  )
}

function someKinds(chance: Chance): readonly FaultKind[] {
  const kinds = chance.is(TRACED_SHARE) ? tracedKinds : faultKinds
  if (chance.is(ALL_KINDS_SHARE)) return kinds
  const endless = kinds.filter((kind) => makers[kind].most === anyNumber)
  for (;;) {
    const some = kinds.filter(() => chance.is(KIND_SHARE))
    if (some.filter((kind) => endless.includes(kind)).length >= ENDLESS_KINDS_MIN) return some
  }
}

function pickKind(
  chance: Chance,
  kinds: readonly FaultKind[],
  made: ReadonlyMap<FaultKind, number>,
): FaultKind | undefined {
  const open = kinds.filter((kind) => (made.get(kind) ?? 0) < makers[kind].most)
  let left = chance.between(
    0,
    open.reduce((sum, kind) => sum + makers[kind].weight, 0),
  )
  return open.find((kind) => {
    left -= makers[kind].weight
    return left <= 0
  })
}

function instants(
  chance: Chance,
  {
    fromMs,
    untilMs,
    faults,
  }: { readonly fromMs: number; readonly untilMs: number; readonly faults: number },
): readonly number[] {
  const calms = Array.from({ length: CALMS }, () => chance.integer(fromMs, untilMs))
  const isCalm = (atMs: number) => calms.some((calm) => atMs >= calm && atMs < calm + CALM_MS)
  const found: number[] = []
  while (found.length < faults) {
    const atMs = chance.integer(fromMs, untilMs)
    // A short run may consist of calms only.
    if (!isCalm(atMs) || untilMs - fromMs < 2 * CALMS * CALM_MS) found.push(atMs)
  }
  return found.toSorted((one, other) => one - other)
}

function frames(kind: 'drop-frames' | 'duplicate-frames' | 'reorder-frames' | 'garble-frames') {
  return (chance: Chance): VenueFault => ({
    kind,
    share: chance.between(0.02, 0.6),
    durationMs: chance.integer(500, 8_000),
  })
}

function newListing(chance: Chance, coin: string): NewListing {
  return {
    coin,
    sizeDecimals: chance.integer(0, 3),
    maxLeverage: chance.pick([3, 5, 10]),
    priceUsd: chance.between(0.01, 50),
    dayNotionalUsd: chance.between(1e4, 1e6),
  }
}

function oneConnection(chance: Chance): { readonly connection?: number } {
  return chance.is(ONE_CONNECTION_SHARE) ? { connection: chance.integer(0, CONNECTIONS - 1) } : {}
}

function sign(chance: Chance): 1 | -1 {
  return chance.is(0.5) ? 1 : -1
}
