import { isRecord } from '../../domain/json.ts'
import type { Account } from '../market/accounts.ts'
import { accountWire } from './account-wire.ts'
import { bookAnswer, candleAnswer, fundingAnswer, recentTradesAnswer } from './coin-info.ts'
import { coinsAtCap, perpDexLimitsWire, perpDexStatusWire, perpDexWire } from './dex-info.ts'
import type { Dexes, SimulatedDex } from './dexes.ts'
import type { InfoAnswer, VenueInstant } from './info-answer.ts'
import { data, MALFORMED, UNKNOWN } from './info-answer.ts'
import { predictedFundingsWire } from './predicted-fundings.ts'
import { externalMids, spotContextsWire, spotMetaWire } from './spot.ts'
import { isUser } from './subscription.ts'
import { traderAt } from './traders.ts'
import { userFillsAnswer } from './user-fills.ts'
import { vaultDetailsWire } from './vaults.ts'
import { contextsWire, marginTableWire, metaWire, midsWire } from './wire.ts'

const DEFAULT_WEIGHT = 20
const LIGHT_WEIGHT = 2
const USER_ROLE_WEIGHT = 60

const CLIENT_ORDER = /^0x[0-9a-fA-F]{32}$/

/** The answer for an unknown address. */
const UNKNOWN_ACCOUNT: Account = { positions: [], crossValueUsd: 0, crossMaintenanceUsd: 0 }

const lightTypes: ReadonlySet<string> = new Set([
  'l2Book',
  'allMids',
  'exchangeStatus',
  'clearinghouseState',
  'spotClearinghouseState',
  'orderStatus',
])

/** Requests that may name a dex. */
const dexTypes: ReadonlySet<unknown> = new Set([
  'meta',
  'metaAndAssetCtxs',
  'allMids',
  'marginTable',
  'perpsAtOpenInterestCap',
  'perpDexLimits',
  'perpDexStatus',
  'clearinghouseState',
  'spotClearinghouseState',
])

export function infoWeight(body: unknown): number {
  if (!isRecord(body)) return DEFAULT_WEIGHT
  const { type } = body
  if (type === 'userRole') return USER_ROLE_WEIGHT
  return typeof type === 'string' && lightTypes.has(type) ? LIGHT_WEIGHT : DEFAULT_WEIGHT
}

export function answerInfo(dexes: Dexes, body: unknown, view: VenueInstant): InfoAnswer {
  if (!isRecord(body)) return MALFORMED
  const { type, req, user } = body
  const { atMs } = view
  if (dexTypes.has(type)) return answerOfDex(dexes, body, view)
  switch (type) {
    case 'allPerpMetas':
      return data(dexes.all.map(metaWire))
    case 'perpDexs':
      return data([null, ...dexes.builders.map((dex) => perpDexWire(dex, atMs))])
    case 'l2Book':
      return bookAnswer(dexes, body, view)
    case 'candleSnapshot':
      return candleAnswer(dexes, req, view)
    case 'fundingHistory':
      return fundingAnswer(dexes, body, view)
    case 'predictedFundings':
      return data(predictedFundingsWire(dexes.main.market, atMs))
    case 'recentTrades':
      return recentTradesAnswer(dexes, body, view)
    case 'spotMeta':
      return data(spotMetaWire)
    case 'spotMetaAndAssetCtxs': {
      const mids = midsWire(dexes.main.market, atMs)
      return data([spotMetaWire, spotContextsWire((coin) => mids[coin], atMs)])
    }
    case 'userFillsByTime':
      return userFillsAnswer(dexes, body, view)
    case 'vaultDetails': {
      const { vaultAddress } = body
      return isUser(vaultAddress) ? data(vaultDetailsWire(vaultAddress) ?? null) : MALFORMED
    }
    case 'userRole':
      return isUser(user) ? data({ role: roleOf(user) }) : MALFORMED
    case 'orderStatus':
      // There are no orders.
      return isUser(user) && isOrder(body['oid']) ? data({ status: 'unknownOid' }) : MALFORMED
    case 'exchangeStatus':
      return data({ specialStatuses: null, time: view.stampMs })
    default:
      return MALFORMED
  }
}

function answerOfDex(
  dexes: Dexes,
  body: Readonly<Record<string, unknown>>,
  view: VenueInstant,
): InfoAnswer {
  const { atMs } = view
  const { type, id, user } = body
  const name = body['dex'] ?? ''
  if (typeof name !== 'string') return MALFORMED
  const dex = dexes.named(name)
  if (dex === undefined) return UNKNOWN
  switch (type) {
    case 'meta':
      return data(metaWire(dex))
    case 'metaAndAssetCtxs':
      return data([metaWire(dex), contextsWire(dex.market, atMs)])
    case 'allMids':
      return data(allMids(dexes, dex, atMs))
    case 'marginTable': {
      if (typeof id !== 'number') return MALFORMED
      const table = marginTableWire(id)
      return table === undefined ? UNKNOWN : data(table)
    }
    case 'perpsAtOpenInterestCap':
      return data(coinsAtCap(dex))
    case 'perpDexLimits':
      return body['dex'] === undefined ? MALFORMED : data(perpDexLimitsWire(dex, atMs))
    case 'perpDexStatus':
      return body['dex'] === undefined ? MALFORMED : data(perpDexStatusWire(dex, atMs))
    case 'clearinghouseState':
      return isUser(user) ? data(accountAnswer(dexes, dex, user, view)) : MALFORMED
    case 'spotClearinghouseState':
      // There are no spot balances.
      return isUser(user) ? data({ balances: [] }) : MALFORMED
    default:
      return MALFORMED
  }
}

function roleOf(user: string): 'user' | 'vault' | 'missing' {
  if (vaultDetailsWire(user) !== undefined) return 'vault'
  return traderAt(user) === undefined ? 'missing' : 'user'
}

/** An order id is the venue's `oid` or the client's `cloid`. */
function isOrder(oid: unknown): boolean {
  return typeof oid === 'string' ? CLIENT_ORDER.test(oid) : Number.isSafeInteger(oid)
}

function accountAnswer(
  { accounts, main }: Dexes,
  dex: SimulatedDex,
  user: string,
  { atMs, stampMs }: VenueInstant,
): object {
  const trader = dex === main ? traderAt(user) : undefined
  const account = trader === undefined ? UNKNOWN_ACCOUNT : accounts.account(trader, atMs)
  return accountWire(account, stampMs)
}

/** Mids of one dex; to those of the main dex the venue adds spot pairs and outcome markets. */
export function allMids(
  dexes: Dexes,
  dex: SimulatedDex,
  atMs: number,
): Readonly<Record<string, string>> {
  const mids = midsWire(dex.market, atMs)
  const isMixed = dex === dexes.main && dexes.builders.length > 0
  return isMixed ? { ...mids, ...externalMids(atMs) } : mids
}
