import assert from 'node:assert/strict'
import type { Hex } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import type { Postgres } from '../ledger/postgres.ts'
import { PostgresUnavailableError } from '../ledger/postgres.ts'
import { busyWhileAway } from '../ledger/postgres-ledger.ts'
import type { PostgresTables } from '../ledger/postgres-schema.ts'
import type { ChannelConfig, ChannelState } from './channel.ts'
import type {
  Channel,
  ChannelStore,
  PastSale,
  RefundBegin,
  SaleResult,
  VoucherSale,
} from './channel-store.ts'
import { afterSale, mirrored, refundBegin, SALE_KEPT_MS } from './channel-store.ts'
import type { ChannelRow } from './stored-channel.ts'
import { channelOf } from './stored-channel.ts'

/** Amounts of the contract have 128 bits, the nonce of a refund 256. */
export const channelTables: PostgresTables = {
  name: 'channels',
  scripts: [
    `CREATE TABLE perpscope.channels (
       id text PRIMARY KEY,
       config text NOT NULL,
       charged numeric(39) NOT NULL,
       signature text,
       unclaimed_since_ms bigint,
       balance numeric(39) NOT NULL,
       claimed numeric(39) NOT NULL,
       withdraw_requested_s bigint NOT NULL,
       refund_nonce numeric(78) NOT NULL,
       refund_sent numeric(78),
       synced_ms bigint NOT NULL,
       version bigint NOT NULL
     );
     CREATE INDEX channels_unclaimed ON perpscope.channels (unclaimed_since_ms)
       WHERE unclaimed_since_ms IS NOT NULL;
     CREATE TABLE perpscope.channel_sales (
       channel_id text NOT NULL REFERENCES perpscope.channels (id),
       cumulative numeric(39) NOT NULL,
       hash text NOT NULL,
       transaction_hash text NOT NULL,
       sold_ms bigint NOT NULL,
       PRIMARY KEY (channel_id, cumulative)
     );
     CREATE INDEX channel_sales_age ON perpscope.channel_sales (sold_ms);`,
  ],
}

type Row = ChannelRow & { readonly version: bigint }

/** A channel as it was read: it is replaced only while its row has this version. */
type Versioned = { readonly channel: Channel; readonly version: bigint }

/** What a change makes of a channel; a result without a channel changes nothing. */
type Change<Result> = { readonly channel: Channel | null; readonly result: Result }

/** Each vain attempt means that another gateway changed the same channel. */
const ATTEMPTS_MAX = 20

const assignments = `charged = $2, signature = $3, unclaimed_since_ms = $4, balance = $5, claimed = $6,
  withdraw_requested_s = $7, refund_nonce = $8, refund_sent = $9, synced_ms = $10`
const replacement = `UPDATE perpscope.channels SET ${assignments}, version = version + 1`
const isUnchanged = 'channels.id = $1 AND version = $11'
/**
 * One statement, so that the total and its sale are stored together. The lock on the payment makes it wait for a gateway
 * that takes the payment over, which finds either the sale or, permanently, none.
 */
const saleStatement = `WITH held AS MATERIALIZED (
  SELECT 1 FROM perpscope.payments WHERE network = $15 AND asset = $16 AND payer = $17 AND nonce = $18
    AND gateway = $19 AND state IN ('settling', 'unknown', 'unconfirmed') FOR UPDATE),
sold AS (${replacement} FROM held WHERE ${isUnchanged} RETURNING channels.id),
written AS (INSERT INTO perpscope.channel_sales
  SELECT id, $2::numeric, $12, $13, $14::bigint FROM sold RETURNING 1)
SELECT EXISTS (SELECT FROM held) AS held, EXISTS (SELECT FROM written) AS written`

/**
 * Channels that several gateways share. A channel is read, changed by the same rules as in every store, and written if
 * no other gateway changed it since; otherwise the change begins again. A voucher is charged only by the gateway that
 * holds its payment in the ledger.
 */
export class PostgresChannelStore implements ChannelStore {
  readonly #db: Postgres
  readonly #gateway: string

  /**
   * @param db with the ledger; closed by its owner
   * @param gateway of this process, as in the ledger
   */
  constructor(db: Postgres, gateway: string) {
    this.#db = db
    this.#gateway = gateway
  }

  async find(id: Hex): Promise<Channel | null> {
    return (await busyWhileAway(this.#found(id)))?.channel ?? null
  }

  mirror(
    id: Hex,
    config: ChannelConfig,
    state: ChannelState,
    nowMs: number,
  ): Promise<Channel | null> {
    return this.#changed(id, (before) => {
      const channel = mirrored(before, id, config, state, nowMs)
      return { channel, result: channel }
    })
  }

  async commit(
    sale: VoucherSale,
    nowMs: number,
    isAwaited: () => boolean = () => true,
  ): Promise<SaleResult> {
    const { channelId, cumulative, hash, transaction, payment } = sale
    const { network, asset, payer, nonce } = payment
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      if (!isAwaited()) return 'superseded'
      const found = await this.#found(channelId)
      assert(found !== null, 'a sale needs a stored channel')
      const after = afterSale(found.channel, sale, nowMs)
      if (typeof after === 'string') return after
      try {
        const [row] = await this.#db.query<{ held: boolean; written: boolean }>(saleStatement, [
          ...valuesOf(after),
          ...[found.version, hash, transaction, nowMs],
          ...[network, asset, payer, nonce, this.#gateway],
        ])
        if (row?.written === true) return 'committed'
        if (row?.held !== true) return 'superseded'
      } catch (cause) {
        if (!(cause instanceof PostgresUnavailableError) || !cause.mayBeDone) throw cause
        if ((await this.sale(channelId, cumulative))?.hash === hash) return 'committed'
        throw cause
      }
    }
    throw contended(channelId)
  }

  /** A statement that PostgreSQL gets late has read an earlier version. */
  async supersede(id: Hex): Promise<void> {
    await this.#db.query('UPDATE perpscope.channels SET version = version + 1 WHERE id = $1', [id])
  }

  beginRefund(seen: Channel): Promise<RefundBegin> {
    return this.#changed(seen.id, (before) => {
      const result = refundBegin(before, seen)
      const isBegun = before !== null && result === 'begun'
      return { channel: isBegun ? { ...before, refundSent: before.refundNonce } : null, result }
    })
  }

  async cancelRefund(id: Hex): Promise<void> {
    await this.#changed(id, (before) => ({
      channel: before === null ? null : { ...before, refundSent: null },
      result: null,
    }))
  }

  async sale(channelId: Hex, cumulative: bigint): Promise<PastSale | null> {
    const [row] = await busyWhileAway(
      this.#db.query<{ hash: string; transaction: string; sold_ms: bigint }>(
        `SELECT hash, transaction_hash AS transaction, sold_ms FROM perpscope.channel_sales
           WHERE channel_id = $1 AND cumulative = $2`,
        [channelId, cumulative],
      ),
    )
    if (row === undefined) return null
    return { hash: row.hash, transaction: row.transaction, soldMs: Number(row.sold_ms) }
  }

  async channels(): Promise<readonly Channel[]> {
    return (await this.#db.query<Row>('SELECT * FROM perpscope.channels ORDER BY id')).map(
      channelOf,
    )
  }

  async unclaimed(): Promise<readonly Channel[]> {
    const rows = await this.#db.query<Row>(
      `SELECT * FROM perpscope.channels WHERE unclaimed_since_ms IS NOT NULL
         ORDER BY unclaimed_since_ms`,
    )
    return rows.map(channelOf)
  }

  async sweep(nowMs: number, rowsMax: number): Promise<void> {
    await this.#db.query(
      `DELETE FROM perpscope.channel_sales WHERE ctid IN
         (SELECT ctid FROM perpscope.channel_sales WHERE sold_ms < $1 ORDER BY sold_ms LIMIT $2)`,
      [nowMs - SALE_KEPT_MS, rowsMax],
    )
  }

  close(): void {}

  async #found(id: Hex): Promise<Versioned | null> {
    const [row] = await this.#db.query<Row>('SELECT * FROM perpscope.channels WHERE id = $1', [id])
    return row === undefined ? null : { channel: channelOf(row), version: row.version }
  }

  async #changed<Result>(
    id: Hex,
    change: (before: Channel | null) => Change<Result>,
  ): Promise<Result> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const found = await this.#found(id)
      const { channel, result } = change(found?.channel ?? null)
      if (channel === null || (await this.#written(channel, found?.version ?? null))) return result
    }
    throw contended(id)
  }

  /** @returns false if another gateway changed the channel since this version; null is a new channel */
  async #written(channel: Channel, version: bigint | null): Promise<boolean> {
    const rows =
      version === null
        ? await this.#db.query(
            `INSERT INTO perpscope.channels (id, charged, signature, unclaimed_since_ms, balance,
               claimed, withdraw_requested_s, refund_nonce, refund_sent, synced_ms, config, version)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 1)
             ON CONFLICT DO NOTHING RETURNING 1`,
            [...valuesOf(channel), JSON.stringify(channel.config)],
          )
        : await this.#db.query(`${replacement} WHERE ${isUnchanged} RETURNING 1`, [
            ...valuesOf(channel),
            version,
          ])
    return rows.length > 0
  }
}

/** In the order of `assignments`. */
function valuesOf(channel: Channel): readonly unknown[] {
  return [
    channel.id,
    channel.charged,
    channel.signature,
    channel.unclaimedSinceMs,
    channel.balance,
    channel.claimed,
    channel.withdrawRequestedAtSeconds,
    channel.refundNonce,
    channel.refundSent,
    channel.syncedMs,
  ]
}

function contended(id: Hex): OperatingError {
  return new OperatingError('channel_contended', `gateways change channel ${id} too often at once`)
}
