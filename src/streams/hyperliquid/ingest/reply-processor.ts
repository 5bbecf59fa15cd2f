import type { Batch, TokenPrice } from '../../../domain/event.ts'
import type { FundingRow, Memory } from '../../../domain/history.ts'
import { timeframeMs } from '../../../domain/timeframe.ts'
import { FundingFilter } from '../plausibility/funding-filter.ts'
import type { Position } from '../wire/account-state.ts'
import { decodeAccountState } from '../wire/account-state.ts'
import { decodeCandleSnapshot } from '../wire/candles.ts'
import { decodeFundingHistory, decodePredictedFundings } from '../wire/fundings.ts'
import { decodeUserFills, FILLS_MAX, liquidationEvents } from '../wire/liquidation-fills.ts'
import type { Drop, Rejected } from '../wire/rejection.ts'
import { drop } from '../wire/rejection.ts'
import { decodeSpotPrices } from '../wire/spot-prices.ts'
import { decodeMeta, decodeMetaAndAssetContexts, dexOf } from '../wire/universe.ts'
import { AccountBook } from './account-book.ts'
import type { ArrivalOf } from './arrival.ts'
import type { IngestState } from './frame-processor.ts'

/** The venue may change a bar for this long after its end. */
const CLOSED_AFTER_MS = 3_000

/** Turns replies to REST requests into events. An event carries the time of the request, not of the reply. */
export class ReplyProcessor {
  readonly #state: IngestState
  readonly #accounts = new AccountBook()
  readonly #fundingFilter = new FundingFilter()
  #vaults: ReadonlySet<string> = new Set()

  constructor(state: IngestState) {
    this.#state = state
  }

  universe(
    { request, dex, body }: ArrivalOf<'universe'>,
    nowMs: number,
  ): { readonly batch: Batch; readonly isNew: boolean } | Rejected {
    const { decoder, monitor, plausibility, times, trades, universes } = this.#state
    const known = universes.of(dex)
    const reply =
      request === 'meta'
        ? decodeMeta(body, dex, known)
        : decodeMetaAndAssetContexts(body, nowMs, dex, known)
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const taken = universes.take(dex, reply.universe)
    if ('kind' in taken) return taken
    const contexts =
      reply.kind === 'meta' ? [] : plausibility.contexts(reply.contexts, 'own universe', nowMs)
    const { isNew } = taken
    if (!isNew) return { batch: contexts, isNew }
    decoder.setUniverse(reply.universe, dex)
    const { listings } = universes
    const listed = new Set(listings.map(({ coin }) => coin))
    plausibility.keep((coin) => listed.has(coin))
    for (const { coin, isDelisted } of listings) {
      if (!isDelisted) continue
      monitor.end(coin)
      trades.forget(coin)
    }
    return { batch: [{ kind: 'universe', listings, ...times.stamp(nowMs) }, ...contexts], isNew }
  }

  /** Removes a dex that is no longer followed. */
  dropDex(dex: string, nowMs: number): Batch {
    const { decoder, monitor, times, universes } = this.#state
    for (const { coin } of universes.listings) if (dexOf(coin) === dex) monitor.end(coin)
    universes.drop(dex)
    decoder.dropUniverse(dex)
    return [{ kind: 'universe', listings: universes.listings, ...times.stamp(nowMs) }]
  }

  history(
    { coin, timeframe, fromMs, askedMs, body }: ArrivalOf<'history'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { times } = this.#state
    const series = { coin, timeframe, fromMs }
    const reply = decodeCandleSnapshot(body, series, times.latestMs(nowMs))
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const { bars } = reply
    return {
      batch: [{ kind: 'history', coin, timeframe, bars, fromMs, ...times.stamp(askedMs) }],
    }
  }

  /** 1h bars that were closed at the time of the request. */
  hours(
    { coin, fromMs, askedMs, body }: ArrivalOf<'hours'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { times } = this.#state
    const series = { coin, timeframe: '1h', fromMs } as const
    const reply = decodeCandleSnapshot(body, series, times.latestMs(nowMs))
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const stamp = times.stamp(askedMs)
    const closedMs = stamp.timeExchangeMs - CLOSED_AFTER_MS - timeframeMs['1h']
    const bars = reply.bars.filter(({ openTimeMs }) => openTimeMs <= closedMs)
    const event = { kind: 'hourly-history', coin, bars, fromMs, ...stamp } as const
    return { batch: bars.length === 0 ? [] : [event] }
  }

  /** `isWhole`: no row was dropped, so a missing hour does not exist at the venue. */
  fundings(
    { coin, fromMs, askedMs, body }: ArrivalOf<'fundings'>,
    nowMs: number,
  ):
    | { readonly batch: Batch; readonly rows: readonly FundingRow[]; readonly isWhole: boolean }
    | Rejected {
    const { times } = this.#state
    const reply = decodeFundingHistory(body, { coin, fromMs }, times.latestMs(nowMs))
    if (reply.kind === 'rejected') return reply
    const rows = this.#fundingFilter.accept(coin, reply.rows)
    const outliers = Array.from({ length: reply.rows.length - rows.length }, () =>
      drop('doubtful_figure', 'fundingRate', coin),
    )
    const drops = [...reply.drops, ...outliers]
    this.#reportDrops(drops)
    const stamp = times.stamp(askedMs)
    const event = { kind: 'funding-history', coin, rows, ...stamp } as const
    return { batch: rows.length === 0 ? [] : [event], rows, isWhole: drops.length === 0 }
  }

  predictions({ askedMs, body }: ArrivalOf<'predictions'>): { readonly batch: Batch } | Rejected {
    const listed = this.#listedCoins()
    const stamp = this.#state.times.stamp(askedMs)
    const isListed = (coin: string) => listed.has(coin)
    const reply = decodePredictedFundings(body, isListed, stamp.timeExchangeMs)
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    return { batch: reply.coins.map((row) => ({ kind: 'venue-fundings', ...row, ...stamp })) }
  }

  /** Prices of the collateral of other dexes. */
  spot({
    askedMs,
    body,
  }: ArrivalOf<'spot'>):
    | { readonly batch: Batch; readonly tokens: readonly TokenPrice[] }
    | Rejected {
    const reply = decodeSpotPrices(body)
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const { tokens } = reply
    const stamp = this.#state.times.stamp(askedMs)
    return { batch: [{ kind: 'collateral-prices', tokens, ...stamp }], tokens }
  }

  /** Opened, changed and closed positions of one account. */
  account({
    account,
    askedMs,
    body,
  }: ArrivalOf<'account'>):
    | { readonly batch: Batch; readonly positions: readonly Position[] }
    | Rejected {
    const reply = decodeAccountState(body, this.#listedCoins())
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const batch = this.#accounts.update(account, reply, this.#state.times.stamp(askedMs))
    return { batch, positions: reply.positions }
  }

  /** Liquidations among the fills of one account. A full reply may lack the fills after its newest one. */
  fills(
    { account, fromMs, untilMs, askedMs, body }: ArrivalOf<'fills'>,
    nowMs: number,
  ): { readonly batch: Batch } | Rejected {
    const { times } = this.#state
    const request = { account, fromMs, untilMs }
    const reply = decodeUserFills(body, request, times.latestMs(nowMs))
    if (reply.kind === 'rejected') return reply
    this.#reportDrops(reply.drops)
    const { liquidations, rows, newestMs } = reply
    const isFull = rows >= FILLS_MAX && newestMs > fromMs
    const read = { account, fromMs, untilMs: isFull ? newestMs - 1 : untilMs }
    const events = liquidationEvents(liquidations, (one) => this.#vaults.has(one), nowMs)
    return { batch: [{ kind: 'fills-read', ...read, ...times.stamp(askedMs) }, ...events] }
  }

  vaults({ accounts }: ArrivalOf<'vaults'>, nowMs: number): { readonly batch: Batch } {
    this.#vaults = new Set(accounts)
    return { batch: [{ kind: 'liquidator-vaults', accounts, ...this.#state.times.stamp(nowMs) }] }
  }

  loadedHistory(memory: Memory, nowMs: number): Batch {
    const { coin } = memory
    const stamp = this.#state.times.stamp(nowMs)
    const isRemembered = true
    switch (memory.series) {
      case 'fundings':
        return [{ kind: 'funding-history', coin, rows: memory.rows, isRemembered, ...stamp }]
      case 'hours':
        return [{ kind: 'hourly-history', coin, bars: memory.rows, isRemembered, ...stamp }]
      case 'quarters':
      case 'minutes':
        return [{ kind: 'sample-history', coin, samples: memory.rows, ...stamp }]
      default:
        return memory satisfies never
    }
  }

  #listedCoins(): ReadonlySet<string> {
    return new Set(this.#state.universes.all.flatMap((listing) => listing?.coin ?? []))
  }

  #reportDrops(drops: readonly Drop[]): void {
    for (const one of drops) this.#state.onFeedEvent({ kind: 'value-dropped', ...one })
  }
}
