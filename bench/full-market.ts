import assert from 'node:assert/strict'
import type { DocumentKinds } from '../src/compute/analysis.ts'
import { Processor, PUBLISH_PHASES } from '../src/compute/processor.ts'
import { poolEvents, rateEvents } from '../src/compute/testing/chain-tape.ts'
import { coinHistory } from '../src/compute/testing/coin-history.ts'
import { externalEvents } from '../src/compute/testing/external-events.ts'
import { book, context, NOW_MS, warmTape, wave } from '../src/compute/testing/tape.ts'
import type { Document } from '../src/domain/document.ts'
import { renderMarket } from '../src/workers/market-worker.ts'

/** A market in which every coin has its full history. */
export class FullMarket {
  readonly coins: readonly string[]
  readonly #products: DocumentKinds
  readonly #processor: Processor

  constructor(coinCount: number, products: DocumentKinds) {
    this.coins = Array.from({ length: coinCount }, (_, at) => (at === 0 ? 'BTC' : `COIN${at}`))
    this.#products = products
    this.#processor = new Processor(products, '0.0.0')
    const [[universe] = []] = warmTape('BTC')
    assert(universe?.kind === 'universe', 'a tape begins with the universe')
    const [listing] = universe.listings
    assert(listing !== undefined, 'and lists a coin')
    const listings = this.coins.map((coin) => ({ ...listing, coin }))
    this.#processor.process([{ ...universe, listings }])
    for (const [index, coin] of this.coins.entries()) {
      const amplitude = 0.02 + (0.05 * index) / coinCount
      for (const batch of warmTape(coin, (timeframe, count) => wave(timeframe, count, amplitude)))
        this.#processor.process(batch.filter(({ kind }) => kind !== 'universe'))
      for (const batch of coinHistory(coin, index)) this.#processor.process(batch)
    }
  }

  /** New events of the venue and of external sources for every coin, so that all documents are due. */
  stir(round: number): void {
    const timeMs = NOW_MS + round * 1_000
    const times = { timeExchangeMs: timeMs, timeReceivedMs: timeMs }
    for (const [index, coin] of this.coins.entries()) {
      const markPrice = 110 * (1 + 1e-4 * Math.sin(round + index))
      const prices = { markPrice, oraclePrice: markPrice, midPrice: markPrice }
      this.#processor.process([context(coin, { ...times, ...prices })])
      this.#processor.process([book(coin, times)])
      this.#processor.process(externalEvents(coin, markPrice, timeMs))
    }
    this.#processor.process([...rateEvents(timeMs), ...poolEvents(timeMs)])
  }

  render(round: number): readonly Document[] {
    const nowMs = NOW_MS + round * 1_000
    const documents: Document[] = []
    for (let phase = 0; phase < PUBLISH_PHASES; phase += 1)
      documents.push(...this.#processor.publish(nowMs))
    for (const { contract } of this.#products.market)
      documents.push(renderMarket(this.#processor.gather(contract.id, nowMs)))
    return documents
  }
}
