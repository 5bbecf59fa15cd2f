import { readFileSync } from 'node:fs'
import type { TProperties, TSchema } from 'typebox'
import { Type } from 'typebox'
import type { Clock } from '../../domain/clock.ts'
import { OperatingError } from '../../domain/errors.ts'
import { isRecord } from '../../domain/json.ts'
import { entryProblem } from '../entry-problem.ts'
import type { NewListing } from '../market/market.ts'
import { priceDecimalsMax, sizeOf } from '../market/precision.ts'
import type { Dexes } from './dexes.ts'
import type { VenueFault } from './fault.ts'
import { closeCodes, coinChannels } from './fault.ts'
import type { TextObject } from './json-objects.ts'
import { jsonObjects } from './json-objects.ts'

type ScriptedTimes = {
  /** After the start, by the venue's clock. */
  readonly atMs: number
  /** Again and again after that; once where absent. */
  readonly everyMs?: number
}

/** One entry of a script: what happens when, and how often. */
export type ScriptedFault = ScriptedTimes & {
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

const period = Type.Number({ minimum: 1, maximum: DAY_MS })
const lasting = { duration_ms: period }
const framesShare = { share: Type.Number({ minimum: 0, maximum: 1 }), ...lasting }
const coin = Type.String({ pattern: '^([a-z0-9]{1,6}:)?[A-Za-z0-9_.*?-]{1,24}$' })
const oneConnection = {
  connection: Type.Optional(Type.Integer({ minimum: 0, maximum: CONNECTION_MAX })),
}
const listing = Type.Object(
  {
    coin,
    size_decimals: Type.Integer({ minimum: 0, maximum: SIZE_DECIMALS_MAX }),
    max_leverage: Type.Integer({ minimum: 1, maximum: LEVERAGE_MAX }),
    price_usd: Type.Number({ minimum: 1e-6, maximum: PRICE_USD_MAX }),
    day_notional_usd: Type.Number({
      minimum: DAY_NOTIONAL_USD_MIN,
      maximum: DAY_NOTIONAL_USD_MAX,
    }),
  },
  { additionalProperties: false },
)

const members: Readonly<Record<VenueFault['kind'], TProperties>> = {
  'drop-connections': { code: Type.Optional(Type.Enum(closeCodes)), ...oneConnection },
  'refuse-connections': lasting,
  'refuse-subscriptions': { how: Type.Enum(['silent', 'error']), ...lasting },
  'half-open': { ...lasting, ...oneConnection },
  stall: {
    ...{ coin, ...lasting },
    channels: Type.Optional(Type.Array(Type.Enum(coinChannels), { minItems: 1 })),
  },
  'drop-frames': framesShare,
  'duplicate-frames': framesShare,
  'reorder-frames': framesShare,
  'garble-frames': framesShare,
  'delay-frames': { delay_ms: period, ...lasting, ...oneConnection },
  'rest-429': lasting,
  'rest-outage': { how: Type.Enum(['500', 'hang', 'garbage']), ...lasting },
  'late-flat-bars': lasting,
  list: { listing },
  delist: { coin },
  relist: { coin },
  'clock-skew': { offset_ms: Type.Number({ minimum: -DAY_MS, maximum: DAY_MS }), ...lasting },
}
/** A second time these would find their work done. */
const once: readonly string[] = ['list', 'delist'] satisfies VenueFault['kind'][]
/** By kind. */
const schemas: ReadonlyMap<unknown, TSchema> = new Map(
  Object.entries(members).map(([kind, own]) => {
    const every = Type.Optional(Type.Number({ minimum: 100, maximum: DAY_MS }))
    const times = {
      at_ms: Type.Number({ minimum: 0, maximum: DAY_MS }),
      ...(!once.includes(kind) && { every_ms: every }),
    }
    const schema = Type.Object(
      { ...times, kind: Type.Literal(kind), ...own },
      { additionalProperties: false },
    )
    return [kind, schema]
  }),
)

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
  const schema = schemas.get(value['kind'])
  if (schema === undefined) throw bad(`kind must be one of ${[...schemas.keys()].join(', ')}`)
  const problem = entryProblem(schema, value)
  if (problem !== null) throw bad(problem)
  const { atMs, everyMs, ...rest } = inCamelCase(value) as ScriptedTimes & VenueFault
  const fault = rest as VenueFault
  if (everyMs !== undefined && 'durationMs' in fault && everyMs < fault.durationMs)
    throw bad(`every_ms must be >= ${fault.durationMs}, the duration_ms`)
  if (fault.kind === 'list') checkPriceSteps(fault.listing, bad)
  const times = { atMs, ...(everyMs !== undefined && { everyMs }) }
  return { ...times, fault, text: JSON.stringify(value), line }
}

/** `duration_ms` becomes `durationMs`. */
function inCamelCase(value: unknown): unknown {
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([name, member]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    inCamelCase(member),
  ])
  return Object.fromEntries(entries)
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

function badFault(path: string, line: number, problem: string): OperatingError {
  return new OperatingError('bad_fault', `${path}:${line}: ${problem}`)
}
