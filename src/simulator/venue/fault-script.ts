import { readFileSync } from 'node:fs'
import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import type { NewListing } from '../market/market.ts'
import { priceDecimalsMax, sizeOf } from '../market/precision.ts'
import type { Dexes } from './dexes.ts'
import type { CloseCode, VenueFault } from './fault.ts'
import { closeCodes, coinChannels } from './fault.ts'
import { JsonMembers } from './json-members.ts'
import type { TextObject } from './json-objects.ts'
import { jsonObjects } from './json-objects.ts'

/** One entry of a script: what happens when, and how often. */
export type ScriptedFault = {
  /** After the start, by the venue's clock. */
  readonly atMs: number
  /** Again and again after that; once where absent. */
  readonly everyMs?: number
  readonly fault: VenueFault
  /** The entry as one line of JSON, as its author wrote it. */
  readonly text: string
  readonly line: number
}

const DAY_MS = 86_400_000
const SIZE_DECIMALS_MAX = 5
const LEVERAGE_MAX = 50
const PRICE_USD_MAX = 1e6
/** Minimum price in price steps: twenty levels of bids and the moves of a day need the room. */
const PRICE_STEPS_MIN = 100
const DAY_NOTIONAL_USD_MIN = 1000
const DAY_NOTIONAL_USD_MAX = 1e11
/** An address has no more. */
const CONNECTION_MAX = 9
const COIN = /^([a-z0-9]{1,6}:)?[A-Za-z0-9_.*?-]{1,24}$/

/**
 * Reads a script of faults, by time: JSON lines or one JSON array, see `docs/faults.md`.
 * @throws OperatingError naming file, line and what is allowed there
 */
export function readFaultScript(path: string): readonly ScriptedFault[] {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new OperatingError('no_faults', `cannot read the faults in ${path}`, { cause })
  }
  return parseFaultScript(text, path)
}

/** @throws OperatingError naming file, line and what is allowed there */
export function parseFaultScript(text: string, path: string): readonly ScriptedFault[] {
  const objects = jsonObjects(text, (line, problem) => badFault(path, line, problem))
  if (objects.length === 0) throw badFault(path, 1, 'there is no fault in this file')
  const script = objects.map((object) => scriptedFault(object, path))
  return script.toSorted((one, other) => one.atMs - other.atMs)
}

/**
 * Checks the coins of a script against the universe that it begins with.
 * @throws OperatingError naming file, line and coin
 */
export function checkCoins(
  script: readonly ScriptedFault[],
  path: string,
  dexes: Pick<Dexes, 'instrument' | 'dexOf' | 'builders'>,
): void {
  const listed = new Set<string>()
  const delisted = new Set<string>()
  const isDelisted = (coin: string): boolean =>
    delisted.has(coin) || dexes.instrument(coin)?.isDelisted === true
  const isKnown = (coin: string): boolean =>
    listed.has(coin) || dexes.instrument(coin) !== undefined
  for (const { fault, line } of script) {
    if (fault.kind === 'list') {
      const { coin } = fault.listing
      if (isKnown(coin)) throw badFault(path, line, `${coin} is listed already`)
      if (dexes.dexOf(coin) === undefined) {
        const names = dexes.builders.map(({ name }) => name).join(', ')
        throw badFault(
          path,
          line,
          `${coin} has no dex to be listed on: begin with one of ${names} and a colon, or with the coin itself for the main dex`,
        )
      }
      listed.add(coin)
    } else if ('coin' in fault && !isKnown(fault.coin)) {
      throw badFault(path, line, `${fault.coin} is not listed then; names are case-sensitive`)
    }
    if (fault.kind !== 'delist') continue
    if (isDelisted(fault.coin)) throw badFault(path, line, `${fault.coin} is delisted already`)
    delisted.add(fault.coin)
  }
}

/** Runs a script from now on. @returns what stops it. */
export function runFaultScript(
  script: readonly ScriptedFault[],
  clock: Clock,
  inject: (scripted: ScriptedFault) => void,
): () => void {
  const stops = script.map((scripted) => {
    let stopRepeating = (): void => {}
    const stopWaiting = clock.after(scripted.atMs, () => {
      inject(scripted)
      const { everyMs } = scripted
      if (everyMs !== undefined) stopRepeating = clock.every(everyMs, () => inject(scripted))
    })
    return () => {
      stopWaiting()
      stopRepeating()
    }
  })
  return () => {
    for (const stop of stops) stop()
  }
}

function scriptedFault({ value, line }: TextObject, path: string): ScriptedFault {
  const bad = (problem: string): OperatingError => badFault(path, line, problem)
  const entry = new JsonMembers(value, bad)
  const atMs = entry.number('at_ms', { min: 0, max: DAY_MS })
  const fault = faultOf(entry, bad)
  const shortestMs = 'durationMs' in fault ? Math.max(100, fault.durationMs) : 100
  const everyMs = entry.has('every_ms')
    ? entry.number('every_ms', { min: shortestMs, max: DAY_MS })
    : undefined
  if (everyMs !== undefined && (fault.kind === 'list' || fault.kind === 'delist')) {
    throw bad(`every_ms makes no sense with ${fault.kind}`)
  }
  entry.checkNoOthers()
  const text = JSON.stringify(value)
  return { atMs, ...(everyMs === undefined ? {} : { everyMs }), fault, text, line }
}

const kinds = [
  'drop-connections',
  'refuse-connections',
  'refuse-subscriptions',
  'half-open',
  'stall',
  'drop-frames',
  'duplicate-frames',
  'reorder-frames',
  'garble-frames',
  'delay-frames',
  'rest-429',
  'rest-outage',
  'late-flat-bars',
  'list',
  'delist',
  'relist',
  'clock-skew',
] as const satisfies readonly VenueFault['kind'][]

function faultOf(entry: JsonMembers, bad: (problem: string) => OperatingError): VenueFault {
  const kind = entry.oneOf('kind', kinds)
  const durationMs = (): number => entry.number('duration_ms', { min: 1, max: DAY_MS })
  switch (kind) {
    case 'drop-connections':
      return { kind, ...codeOf(entry), ...connectionOf(entry) }
    case 'half-open':
      return { kind, durationMs: durationMs(), ...connectionOf(entry) }
    case 'refuse-connections':
    case 'rest-429':
    case 'late-flat-bars':
      return { kind, durationMs: durationMs() }
    case 'refuse-subscriptions':
      return { kind, how: entry.oneOf('how', ['silent', 'error']), durationMs: durationMs() }
    case 'stall': {
      const stall = { kind, coin: coinOf(entry), durationMs: durationMs() }
      return entry.has('channels')
        ? { ...stall, channels: entry.listOf('channels', coinChannels) }
        : stall
    }
    case 'drop-frames':
    case 'duplicate-frames':
    case 'reorder-frames':
    case 'garble-frames':
      return {
        kind,
        share: entry.number('share', { min: 0, max: 1 }),
        durationMs: durationMs(),
      }
    case 'delay-frames':
      return {
        kind,
        delayMs: entry.number('delay_ms', { min: 1, max: DAY_MS }),
        durationMs: durationMs(),
        ...connectionOf(entry),
      }
    case 'rest-outage':
      return {
        kind,
        how: entry.oneOf('how', ['500', 'hang', 'garbage']),
        durationMs: durationMs(),
      }
    case 'list': {
      const listing = listingOf(entry.members('listing'))
      checkPriceSteps(listing, bad)
      return { kind, listing }
    }
    case 'delist':
    case 'relist':
      return { kind, coin: coinOf(entry) }
    case 'clock-skew':
      return {
        kind,
        offsetMs: entry.number('offset_ms', { min: -DAY_MS, max: DAY_MS }),
        durationMs: durationMs(),
      }
  }
}

function listingOf(members: JsonMembers): NewListing {
  const listing = {
    coin: coinOf(members),
    sizeDecimals: members.integer('size_decimals', { min: 0, max: SIZE_DECIMALS_MAX }),
    maxLeverage: members.integer('max_leverage', { min: 1, max: LEVERAGE_MAX }),
    priceUsd: members.number('price_usd', { min: 1e-6, max: PRICE_USD_MAX }),
    dayNotionalUsd: members.number('day_notional_usd', {
      min: DAY_NOTIONAL_USD_MIN,
      max: DAY_NOTIONAL_USD_MAX,
    }),
  }
  members.checkNoOthers()
  return listing
}

/** A price that is rounded to nothing has no book, and a mark that is no number. */
function checkPriceSteps(
  { sizeDecimals, priceUsd }: NewListing,
  bad: (problem: string) => OperatingError,
): void {
  const priceUsdMin = sizeOf(PRICE_STEPS_MIN, priceDecimalsMax(sizeDecimals))
  if (priceUsd >= priceUsdMin) return
  throw bad(
    `listing: price_usd must be at least ${priceUsdMin} where size_decimals is ${sizeDecimals}, as a price has at most 6 - size_decimals decimals; it is ${priceUsd}`,
  )
}

function codeOf(entry: JsonMembers): { readonly code?: CloseCode } {
  if (!entry.has('code')) return {}
  return { code: entry.oneOf('code', closeCodes) }
}

function connectionOf(entry: JsonMembers): { readonly connection?: number } {
  if (!entry.has('connection')) return {}
  return { connection: entry.integer('connection', { min: 0, max: CONNECTION_MAX }) }
}

function coinOf(members: JsonMembers): string {
  return members.text('coin', COIN, 'the name of a coin, such as "SOL" or "xyz:TSLA"')
}

function badFault(path: string, line: number, problem: string): OperatingError {
  return new OperatingError('bad_fault', `${path}:${line}: ${problem}`)
}
