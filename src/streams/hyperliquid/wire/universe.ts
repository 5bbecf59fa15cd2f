import type { ContextEvent } from '../../../domain/event.ts'
import { parsedJson } from '../../../domain/json.ts'
import type { Listing, MarginTier } from '../../../domain/listing.ts'
import { LISTINGS_MAX, singleMarginTier, UNKNOWN_TOKEN } from '../../../domain/listing.ts'
import { parseContext } from './contexts.ts'
import type { Drop, Rejected } from './rejection.ts'
import { drop, rejected } from './rejection.ts'
import type { RowScope } from './row-fields.ts'
import { TOKEN_INDEX_MAX } from './spot-prices.ts'
import type { VenueObject } from './values.ts'
import { isVenueObject, readAmount, readInteger } from './values.ts'

/** The perpetuals of one dex in the venue's order, by which contexts are joined. null: the row is unreadable. */
export type Universe = readonly (Listing | null)[]

export type MetaReply = {
  readonly kind: 'meta'
  readonly universe: Universe
  readonly drops: readonly Drop[]
}

export type MetaAndContextsReply = Omit<MetaReply, 'kind'> & {
  readonly kind: 'meta-and-contexts'
  readonly contexts: readonly ContextEvent[]
}

const COIN_LENGTH_MAX = 32
const SIZE_DECIMALS_MAX = 12
const LEVERAGE_MAX = 1_000
const MARGIN_TABLES_MAX = 1_024
const MARGIN_TIERS_MAX = 16

/** The venue's own dex. Its perpetuals have bare names; those of others are `dex:COIN`. */
export const MAIN_DEX = ''

/** Excludes spot pairs (`@107`, `PURR/USDC`), outcome markets (`#12`) and names that need escaping. */
const PERPETUAL_NAME = /^[A-Za-z0-9_.*?-]+$/

/** The dex of a perpetual, from its name. */
export function dexOf(coin: string): string {
  const end = coin.indexOf(':')
  return end === -1 ? MAIN_DEX : coin.slice(0, end)
}

/** The dex argument of a request; absent for the main dex. */
export function dexArgument(dex: string): { readonly dex?: string } {
  return dex === MAIN_DEX ? {} : { dex }
}

function isPerpetualName(name: string, dex = MAIN_DEX): boolean {
  if (dex === MAIN_DEX) return PERPETUAL_NAME.test(name)
  return name.startsWith(`${dex}:`) && PERPETUAL_NAME.test(name.slice(dex.length + 1))
}

/** Whether a name belongs to a perpetual of the main dex or of a dex with a universe. */
export function isFollowedName(name: string, universes: ReadonlyMap<string, Universe>): boolean {
  const dex = dexOf(name)
  return (dex === MAIN_DEX || universes.has(dex)) && isPerpetualName(name, dex)
}

/**
 * The reply to `meta`.
 * @param known the universe so far: an unreadable row keeps its previous listing, because the venue only appends
 */
export function decodeMeta(
  body: string,
  dex = MAIN_DEX,
  known: Universe = [],
): MetaReply | Rejected {
  const reply = parsedJson(body)
  if (!isVenueObject(reply)) return rejected(reply === undefined ? 'not_json' : 'bad_shape')
  return readMeta(reply, dex, known)
}

/** The reply to `metaAndAssetCtxs`. */
export function decodeMetaAndAssetContexts(
  body: string,
  timeReceivedMs: number,
  dex = MAIN_DEX,
  known: Universe = [],
): MetaAndContextsReply | Rejected {
  const reply = parsedJson(body)
  if (reply === undefined) return rejected('not_json')
  if (!Array.isArray(reply) || !isVenueObject(reply[0]) || !Array.isArray(reply[1]))
    return rejected('bad_shape')
  const meta = readMeta(reply[0], dex, known)
  if (meta.kind === 'rejected') return meta
  const drops = [...meta.drops]
  const scope = { coins: new Map<string, string>(), timeReceivedMs }
  const contexts = joinContexts(reply[1], meta.universe, scope, drops)
  if (contexts === undefined) return rejected('context_length')
  return { kind: 'meta-and-contexts', universe: meta.universe, contexts, drops }
}

/** Whether every known coin has the same place and collateral, and is not newly delisted. */
export function isContinued(known: Universe, universe: Universe): boolean {
  return known.every(
    (listing, place) => listing === null || isSameListing(listing, universe[place]),
  )
}

/** Same coin and collateral, and not newly delisted. */
export function isSameListing(known: Listing, listing: Listing | null | undefined): boolean {
  return (
    listing?.coin === known.coin &&
    (known.isDelisted || !listing.isDelisted) &&
    (known.collateralToken === UNKNOWN_TOKEN || listing.collateralToken === known.collateralToken)
  )
}

/** @returns undefined if the number of rows differs from that of the universe */
export function joinContexts(
  rows: readonly unknown[],
  universe: Universe,
  scope: RowScope,
  drops: Drop[],
): readonly ContextEvent[] | undefined {
  if (rows.length !== universe.length) return undefined
  const contexts: ContextEvent[] = []
  for (const [position, listing] of universe.entries()) {
    if (listing === null) continue
    const context = parseContext(rows[position], listing.coin, scope, drops)
    if (context !== undefined) contexts.push(context)
  }
  return contexts
}

function readMeta(
  { universe: rows, marginTables, collateralToken }: VenueObject,
  dex: string,
  known: Universe,
): MetaReply | Rejected {
  if (!Array.isArray(rows) || rows.length === 0) return rejected('bad_shape')
  if (rows.length > LISTINGS_MAX) return rejected('universe_length')
  const drops: Drop[] = []
  const tables = readMarginTables(marginTables, drops)
  const unit =
    dex === MAIN_DEX
      ? {}
      : { collateralToken: readInteger(collateralToken, 0, TOKEN_INDEX_MAX) ?? UNKNOWN_TOKEN }
  const seen = new Set<string>()
  const universe = rows.map((row, place) => {
    const before = known[place] ?? null
    const read = readListing(row, dex, tables, before)
    const isSound = read !== null && !seen.has(read.coin)
    if (!isSound) drops.push(drop('bad_listing', 'universe', before?.coin))
    const listing = isSound ? { ...read, ...unit } : before
    if (listing === null || seen.has(listing.coin)) return null
    seen.add(listing.coin)
    return listing
  })
  return seen.size === 0 ? rejected('bad_shape') : { kind: 'meta', universe, drops }
}

function readListing(
  row: unknown,
  dex: string,
  { tables, isWhole }: MarginTables,
  before: Listing | null,
): Listing | null {
  if (!isVenueObject(row)) return null
  const { name: coin } = row
  const sizeDecimals = readInteger(row.szDecimals, 0, SIZE_DECIMALS_MAX)
  const maxLeverage = readInteger(row.maxLeverage, 1, LEVERAGE_MAX)
  if (typeof coin !== 'string' || coin === '' || coin.length > COIN_LENGTH_MAX) return null
  if (!isPerpetualName(coin, dex) || sizeDecimals === undefined || maxLeverage === undefined)
    return null
  const table = tables.get(row.marginTableId)
  const isDelisted = row.isDelisted === true
  const listing = { coin, sizeDecimals, maxLeverage, isDelisted }
  // A table with another maximum leverage belongs to another coin.
  if (table?.[0]?.maxLeverage === maxLeverage) return { ...listing, marginTiers: table }
  // The coin's table may be the unreadable one.
  const isKnown = !isWhole && before?.coin === coin && before.maxLeverage === maxLeverage
  const marginTiers = isKnown ? before.marginTiers : singleMarginTier(maxLeverage)
  return { ...listing, marginTiers }
}

type MarginTables = {
  /** By the identifier in the rows. Tables with a single tier are implicit. */
  readonly tables: ReadonlyMap<unknown, readonly MarginTier[]>
  /** False if a table is unreadable. */
  readonly isWhole: boolean
}

function readMarginTables(rows: unknown, drops: Drop[]): MarginTables {
  const tables = new Map<unknown, readonly MarginTier[]>()
  if (!Array.isArray(rows)) return { tables, isWhole: false }
  const ids = new Set<unknown>()
  let isWhole = true
  for (const row of rows.slice(0, MARGIN_TABLES_MAX)) {
    const [id, table] = Array.isArray(row) ? (row as readonly unknown[]) : []
    const tiers = isVenueObject(table) ? readMarginTiers(table) : null
    // Two tables with one identifier are ambiguous.
    if (tiers === null || ids.has(id)) {
      drops.push(drop('bad_margin_table', 'marginTables'))
      tables.delete(id)
      isWhole = false
    } else tables.set(id, tiers)
    ids.add(id)
  }
  return { tables, isWhole }
}

/** null unless lower bounds rise from 0 and leverage falls. */
function readMarginTiers({ marginTiers: rows }: VenueObject): readonly MarginTier[] | null {
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > MARGIN_TIERS_MAX) return null
  const tiers: MarginTier[] = []
  for (const row of rows) {
    if (!isVenueObject(row)) return null
    const lowerBoundUsd = readAmount(row.lowerBound)
    const maxLeverage = readInteger(row.maxLeverage, 1, LEVERAGE_MAX)
    if (lowerBoundUsd === undefined || maxLeverage === undefined) return null
    const before = tiers.at(-1)
    const isNext =
      before === undefined
        ? lowerBoundUsd === 0
        : lowerBoundUsd > before.lowerBoundUsd && maxLeverage < before.maxLeverage
    if (!isNext) return null
    tiers.push({ lowerBoundUsd, maxLeverage })
  }
  return tiers
}
