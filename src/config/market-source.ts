import { sourceIds } from '../domain/external.ts'
import { DEX_SHARE_MIN } from '../streams/hyperliquid/backfill/dex-choice.ts'
import { WEIGHT_PER_MINUTE_DEFAULT } from '../streams/hyperliquid/backfill/weight-budget.ts'
import { SUBSCRIPTIONS_MAX } from '../streams/hyperliquid/session/subscription-plan.ts'
import type { ValuesOf } from './option.ts'
import { section, setting } from './option.ts'
import {
  accounts,
  count,
  dexSelection,
  headerValue,
  positive,
  socketUrl,
  sourceUrl,
  venueSource,
} from './values.ts'

const externalSettings = section('Market data', {
  source: setting('--source <source>', 'PERPSCOPE_SOURCE', "'live', or the URL of a simulator")
    .argParser(venueSource)
    .default('live'),
  outside: setting(
    '--outside <on|off>',
    'PERPSCOPE_OUTSIDE',
    'use external sources: oracle networks, exchanges and chains',
  )
    .onOff()
    .default('on'),
  sourceUrl: setting(
    '--source-url <source=urls...>',
    'PERPSCOPE_SOURCE_URL',
    'URLs of a source, in order of preference, separated by |; an empty list turns the source off',
  )
    .table(sourceIds, sourceUrl)
    .masked('url')
    .default({}, 'public URLs'),
  pythKey: setting(
    '--pyth-key <key>',
    'PERPSCOPE_PYTH_KEY',
    'key for the stream of Pyth Hermes; prefer the variable (default: none; the public accounts of Pyth on chains are read instead)',
  )
    .argParser(headerValue)
    .masked('value'),
})

/** Settings of the data that an engine receives. */
export const marketSourceSettings = section('Market data', {
  ...externalSettings,
  weightPerMinute: setting(
    '--weight-per-minute <weight>',
    'PERPSCOPE_WEIGHT_PER_MINUTE',
    'REST weight to use per minute; the venue allows 1200 per address',
  )
    .number(positive)
    .default(WEIGHT_PER_MINUTE_DEFAULT),
  subscriptionsMax: setting(
    '--subscriptions-max <number>',
    'PERPSCOPE_SUBSCRIPTIONS_MAX',
    `subscriptions to use; the venue allows ${SUBSCRIPTIONS_MAX} per address, so two engines behind one address share them; the most traded coins come first`,
  )
    .number(count)
    .default(SUBSCRIPTIONS_MAX),
  dexes: setting(
    '--dexes <selection>',
    'PERPSCOPE_DEXES',
    `builder-deployed dexes (HIP-3) to follow: 'auto' for each with at least ${100 * DEX_SHARE_MIN} % of open interest or of ` +
      "24 h volume, judged daily; 'all', 'off', or names separated by commas; their coins are called dex:COIN",
  )
    .list(dexSelection)
    .default('auto'),
  liquidatorVaults: setting(
    '--liquidator-vaults <addresses>',
    'PERPSCOPE_LIQUIDATOR_VAULTS',
    'vaults of the venue that take positions over, separated by commas (default: those of its vault details, read daily)',
  ).list(accounts),
  liquidationFeedUrl: setting(
    '--liquidation-feed-url <url>',
    'PERPSCOPE_LIQUIDATION_FEED_URL',
    'websocket of a vendor with the subscription liquidationFills, with its key; prefer the variable (default: none; liquidations of known accounts and vaults are confirmed by the venue)',
  )
    .argParser(socketUrl)
    .masked('url'),
})

export type ExternalSourceOptions = ValuesOf<typeof externalSettings>
