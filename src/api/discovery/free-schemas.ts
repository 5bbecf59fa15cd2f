import { dexReasons } from '../../domain/dex.ts'
import {
  closedObject,
  countSchema,
  flagSchema,
  instantSchema,
  listOf,
  nullableSchema,
  textSchema,
  textsSchema,
} from './described-schema.ts'
import type { JsonSchema } from './published-schema.ts'

const stateMembers = {
  state: textSchema('up (feed) and ok (store) are the healthy states.'),
  since_iso: nullableSchema('string', 'Begin of the state, UTC, ISO 8601.'),
}

const dexesRef: JsonSchema = { $ref: '#/components/schemas/Dexes' }

/** Builder-deployed dexes, in /health and /coins. */
export const dexesSchema: JsonSchema = {
  ...listOf(
    closedObject({
      name: textSchema('Prefix of its tickers, before the colon.'),
      full_name: nullableSchema('string', 'Name given by the deployer; null if not received.'),
      followed: flagSchema('Its listed coins are available.'),
      reason: {
        anyOf: [{ type: 'string', enum: dexReasons }, { type: 'null' }],
        description:
          "Why it is not followed; null if it is. share_below_minimum: share_pct below the minimum. collateral_unpriced: no USD price of quote_unit, so no share. no_live_coins: no coin trades. subscription_budget: the venue's 1,000 websocket subscriptions per address are used. weight_budget: half of the planned REST weight is used. listing_budget: the engine's list of coins is full. no_reply: the venue did not respond. not_selected: not selected by the operator.",
      },
      share_pct: {
        anyOf: [{ type: 'number', minimum: 0, maximum: 100 }, { type: 'null' }],
        description:
          "Share of the venue's open interest or 24 h volume, whichever is larger, percent; null if not measured.",
        'x-unit': 'percent',
      },
      coins: nullableSchema('integer', 'Number of trading coins; null if not received.'),
      coins_left_out: countSchema('Trading coins without a subscription, for lack of budget.'),
      quote_unit: nullableSchema(
        'string',
        'Collateral token, in which prices are quoted; null if unknown.',
      ),
      reference_price: {
        const: 'deployer_oracle',
        description: "Source of the oracle price: the deployer, not the venue's validators.",
      },
      session_hours: {
        type: 'null',
        description: 'Trading sessions of the underlying; the venue publishes none.',
      },
      judged_iso: nullableSchema(
        'string',
        'Instant of the last share measurement, UTC; null for none.',
      ),
    }),
  ),
  description:
    'Known builder-deployed dexes (HIP-3), followed or not, in the order of the venue. Empty if the operator disabled them; in /health also without an engine.',
}

export const healthSchema = closedObject(
  {
    status: {
      type: 'string',
      enum: ['ok', 'degraded'],
      description: 'degraded: no engine, maintenance, a feed that is not up, or a failed check.',
    },
    engine: { type: 'string', enum: ['available', 'unavailable'] },
    kill_switch: {
      type: 'string',
      enum: ['enabled', 'disabled'],
      description: 'disabled: maintenance; paid paths answer 503.',
    },
    version: textSchema('Software version.'),
    checks: {
      type: 'object',
      description: 'Sales checks; while one is false, nothing is quoted. Absent if not checked.',
      properties: {
        ledger_writable: flagSchema('The payment ledger is writable.'),
        can_settle: flagSchema('At least one payment method can settle.'),
        clock: flagSchema('The server clock is within 60 s of the venue or of a chain.'),
        accepts_sales: flagSchema('The process is not about to end.'),
        engine_agrees: flagSchema('The engine of another process fits this gateway.'),
        engine_clock: flagSchema('Its clock is within 2 s of that of this gateway.'),
      },
      additionalProperties: false,
    },
    mirror: {
      type: 'object',
      description:
        'How well this gateway follows the leading engine. Absent if the engine is part of the same process.',
      properties: {
        ready: flagSchema('The documents of the engine are complete and fresh.'),
        leader_epoch: countSchema(
          'Rises with every change of the leading engine; 0 before the first.',
        ),
        heartbeat_age_seconds: {
          type: 'number',
          minimum: 0,
          'x-unit': 'seconds',
          description: 'Time since the last heartbeat of the leading engine.',
        },
      },
      required: ['ready', 'leader_epoch', 'heartbeat_age_seconds'],
      additionalProperties: false,
    },
    feeds: listOf({
      type: 'object',
      properties: {
        feed: textSchema('Name.'),
        ...stateMembers,
        reason: textSchema('Reason for the state.'),
      },
      required: ['feed', 'state', 'since_iso', 'reason'],
    }),
    dexes: dexesRef,
    store: {
      anyOf: [
        {
          type: 'object',
          properties: {
            ...stateMembers,
            dropped_rows: countSchema('Rows lost before they were written.'),
            damaged_blocks: countSchema('Damaged blocks.'),
            set_aside_files: countSchema('Unreadable files that were replaced by new ones.'),
          },
          required: ['state', 'since_iso', 'dropped_rows', 'damaged_blocks', 'set_aside_files'],
        },
        { type: 'null' },
      ],
      description: 'History on disk; null without an engine.',
    },
    uptime_seconds: { type: 'integer', minimum: 0, 'x-unit': 'seconds' },
    since_iso: instantSchema,
  },
  { optional: ['checks', 'mirror'] },
)

export const coinsSchema = closedObject({
  coins: textsSchema("Available tickers, by the venue's spelling."),
  count: countSchema('Number of tickers.'),
  dexes: dexesRef,
  timestamp_iso: instantSchema,
})

const pathText = textSchema('With {coin} or {token} for analyses of one coin.')
const priceText = textSchema('Price per call, decimal.')

export const pricesSchema = closedObject(
  {
    currency: { const: 'USDC' },
    free: flagSchema('true: all answers are free.'),
    prices: listOf(
      closedObject({
        analysis: textSchema('Id.'),
        path: pathText,
        title: textSchema('Title.'),
        price_usdc: priceText,
        amount_atomic: textSchema('Price in millionths of a USDC.'),
        available: flagSchema('false: the analysis cannot be sold now.'),
      }),
    ),
    ways_to_pay: listOf(
      closedObject({
        scheme: textSchema('x402 scheme.'),
        network: textSchema('CAIP-2.'),
        asset: textSchema('Token address.'),
        pay_to: textSchema('Payee.'),
      }),
    ),
    limits: closedObject(
      {
        sales_per_wallet_per_minute: countSchema('Purchases of one wallet per minute.'),
        quotes_per_address_per_minute: countSchema('Unpaid calls of one address per minute.'),
      },
      {
        description:
          'Further calls get 429; a payment in such a call stays usable. Absent if answers are free.',
      },
    ),
  },
  { optional: ['limits'] },
)

export const indexSchema = closedObject({
  service: textSchema('Name.'),
  version: textSchema('Software version.'),
  free: textsSchema('Free paths.'),
  agents: textsSchema('MCP and A2A endpoints.'),
  paid: listOf({
    type: 'object',
    properties: { path: pathText, summary: textSchema('Summary.'), price_usdc: priceText },
    required: ['path', 'summary', 'price_usdc'],
  }),
})
