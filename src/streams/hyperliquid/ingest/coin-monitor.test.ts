import { beforeEach, describe, expect, test } from 'vitest'
import type { MarketEvent } from '../../../domain/event.ts'
import { CoinMonitor } from './coin-monitor.ts'

const SECOND_MS = 1_000

describe('silence of one coin', () => {
  test('is not found while its book comes', () => {
    const scene = new Scene(['A', 'B', 'C'])
    scene.play(300, () => ['A', 'B', 'C'])
    expect(scene.found).toEqual([])
  })

  test('is found when its book stays away and those of the others do not', () => {
    const scene = new Scene(['A', 'B', 'C'])
    scene.play(60, () => ['A', 'B', 'C'])
    scene.play(25, () => ['A', 'C'])
    expect(scene.found).toEqual([{ coin: 'B', channel: 'book', times: 1 }])
    scene.play(40, () => ['A', 'C'])
    expect(scene.found.at(-1), 'and again, after some patience').toMatchObject({ times: 2 })
    scene.play(6, () => ['A', 'B', 'C'])
    expect(scene.recovered).toEqual([{ coin: 'B', channel: 'book', times: 2 }])
  })

  test('is found where most coins of its connection are silent already', () => {
    const scene = new Scene(['A', 'B', 'C', 'D', 'E'])
    const live = ['A', 'B', 'C', 'D', 'E']
    scene.play(60, () => live)
    for (const silent of ['A', 'B', 'C', 'D']) {
      live.shift()
      scene.play(25, () => live)
      expect(scene.found).toContainEqual({ coin: silent, channel: 'book', times: 1 })
    }
  })

  test('is found when a subscription was acknowledged and no book ever came', () => {
    const scene = new Scene(['A', 'B', 'C'])
    scene.play(40, () => ['A', 'C'])
    expect(scene.found).toMatchObject([{ coin: 'B', channel: 'book' }])
  })

  test('is not found where all are silent, or the cadence is another', () => {
    const scene = new Scene(['A', 'B', 'C'])
    scene.play(60, () => ['A', 'B', 'C'])
    scene.play(120, () => [])
    for (let round = 0; round < 5; round += 1) {
      scene.play(1, () => ['A', 'B', 'C'])
      scene.play(60, () => [])
    }
    expect(scene.found).toEqual([])
  })

  test('is found at once when what was read late shows that its book stayed away', () => {
    const watch = new CoinMonitor()
    for (const coin of ['A', 'B', 'C']) watch.begin(coin, 0, 0)
    const awakeMs = 60_000
    watch.received([book('B')], awakeMs, 50_000)
    for (const coin of ['A', 'C']) watch.received([book(coin)], awakeMs, 1_000)
    expect(watch.tick(awakeMs + 1)).toEqual([{ coin: 'B', channel: 'book', times: 1 }])
  })

  test('is not found where everything is late', () => {
    const watch = new CoinMonitor()
    const coins = ['A', 'B', 'C']
    for (const coin of coins) watch.begin(coin, 0, 0)
    for (const coin of coins) watch.received([book(coin)], 60_000, 30_000)
    expect(watch.tick(61_000)).toEqual([])
  })

  test('is found when trades come and no candle follows', () => {
    const scene = new Scene(['A', 'B'])
    scene.play(
      60,
      () => ['A', 'B'],
      () => [trade('A'), candle('A')],
    )
    expect(scene.found).toEqual([])
    scene.play(
      15,
      () => ['A', 'B'],
      () => [trade('A')],
    )
    expect(scene.found).toEqual([{ coin: 'A', channel: 'candle', times: 1 }])
    scene.play(
      1,
      () => ['A', 'B'],
      () => [candle('A')],
    )
    expect(scene.recovered).toMatchObject([{ coin: 'A', channel: 'candle' }])
  })

  test('is not found when the candle comes just before its trade', () => {
    const scene = new Scene(['A', 'B'])
    scene.play(
      1,
      () => ['A', 'B'],
      () => [candle('A'), trade('A')],
    )
    scene.play(60, () => ['A', 'B'])
    expect(scene.found).toEqual([])
  })

  test('is found when the volume of the day rises and no trade is heard', () => {
    const scene = new Scene(['A', 'B'])
    let notional = 1_000
    scene.play(
      50,
      () => ['A', 'B'],
      (second) => (second % 14 === 0 ? [context('A', notional++)] : []),
    )
    expect(scene.found).toEqual([{ coin: 'A', channel: 'trades', times: 1 }])
  })

  test.each(['book', 'candle', 'trades'] as const)(
    'of its %s goes on over the next connection, until that is heard again',
    (channel) => {
      const scene = new Scene(['A', 'B', 'C'])
      const live = channel === 'book' ? ['A', 'B'] : ['A', 'B', 'C']
      let notional = 1_000
      const others = (second: number) => {
        if (channel === 'candle') return [trade('C')]
        return channel === 'trades' && second % 5 === 0 ? [context('C', notional++)] : []
      }
      scene.play(40, () => live, others)
      expect(scene.found).toMatchObject([{ coin: 'C', channel, times: 1 }])
      scene.reconnect()
      scene.play(40, () => live, others)
      expect(scene.found.slice(1)).toEqual([{ coin: 'C', channel, times: 2 }])
      scene.reconnect()
      const heard = { book: book('C'), candle: candle('C'), trades: trade('C') }[channel]
      scene.play(
        1,
        () => ['A', 'B'],
        () => [heard],
      )
      scene.play(40, () => live, others)
      expect(scene.found.slice(2)).toMatchObject([{ coin: 'C', channel, times: 1 }])
    },
  )

  describe('that a new subscription has made good', () => {
    let scene: Scene
    const live = () => ['A', 'B']

    beforeEach(() => {
      scene = new Scene(['A', 'B'])
      scene.play(20, live, (second) => (second === 5 ? [trade('A')] : []))
      expect(scene.found).toMatchObject([{ coin: 'A', channel: 'candle', times: 1 }])
      scene.madeGood('A', 'candle')
    })

    test('is over once nobody has traded for a while', () => {
      scene.play(29, live)
      expect(scene.recovered).toEqual([])
      scene.play(300, live)
      expect(scene.recovered).toMatchObject([{ coin: 'A', channel: 'candle' }])
      expect(scene.found).toHaveLength(1)
    })

    test('goes on while trades come, and is counted on', () => {
      for (const times of [2, 3]) {
        scene.play(70, live, (second) => (second % 3 === 0 ? [trade('A')] : []))
        expect(scene.found.at(-1)).toMatchObject({ channel: 'candle', times })
        scene.madeGood('A', 'candle')
      }
      expect(scene.recovered).toEqual([])
    })

    test('goes on while the volume of the day rises', () => {
      scene.play(100, live, (second) => (second % 14 === 0 ? [context('A', 1_000 + second)] : []))
      expect(scene.recovered).toEqual([])
    })

    test('is counted on where nothing was heard until it is found again', () => {
      scene.play(40, live)
      scene.play(20, live, () => [trade('A')])
      expect(scene.found.at(-1)).toMatchObject({ channel: 'candle', times: 2 })
      scene.play(1, live, () => [candle('A')])
      scene.play(20, live, () => [trade('A')])
      expect(scene.found.at(-1)).toMatchObject({ channel: 'candle', times: 1 })
    })
  })

  test('is not found when the volume of the day falls, or rises with trades', () => {
    const scene = new Scene(['A', 'B'])
    scene.play(
      100,
      () => ['A', 'B'],
      (second) => [
        context('A', 1_000 - second),
        context('B', 1_000 + second),
        ...(second % 2 === 0 ? [trade('B'), candle('B')] : []),
      ],
    )
    expect(scene.found).toEqual([])
  })
})

/** Some coins on one socket, second by second. */
class Scene {
  readonly found: unknown[] = []
  readonly recovered: unknown[] = []
  readonly #watch = new CoinMonitor()
  #nowMs = Date.UTC(2026, 0, 1)

  readonly #coins: readonly string[]

  constructor(coins: readonly string[]) {
    this.#coins = coins
    for (const coin of coins) this.#watch.begin(coin, 0, this.#nowMs)
  }

  madeGood(coin: string, channel: 'candle' | 'trades'): void {
    this.#watch.madeGood(coin, channel, this.#nowMs)
  }

  reconnect(): void {
    for (const coin of this.#coins) this.#watch.lost(coin)
    for (const coin of this.#coins) this.#watch.begin(coin, 0, this.#nowMs)
  }

  play(
    seconds: number,
    books: () => readonly string[],
    others: (second: number) => readonly MarketEvent[] = () => [],
  ): void {
    for (let second = 0; second < seconds; second += 1) {
      const events = [...(second % 5 === 0 ? books().map(book) : []), ...others(second)]
      for (const event of events) this.recovered.push(...this.#watch.received([event], this.#nowMs))
      this.#nowMs += SECOND_MS
      this.found.push(...this.#watch.tick(this.#nowMs))
    }
  }
}

const stamp = { timeExchangeMs: 1, timeReceivedMs: 2 }

function book(coin: string): MarketEvent {
  return { kind: 'book', coin, bids: [], asks: [], ...stamp }
}

function trade(coin: string): MarketEvent {
  return { kind: 'trade', coin, tradeId: 1, takerSide: 'buy', price: 1, sizeBase: 1, ...stamp }
}

function candle(coin: string): MarketEvent {
  const bar = { openTimeMs: 0, open: 1, high: 1, low: 1, close: 1, volumeBase: 1 }
  return { kind: 'candle', coin, timeframe: '15m', bar, ...stamp }
}

function context(coin: string, dayNotional: number): MarketEvent {
  return {
    kind: 'context',
    coin,
    dayNotional,
    markPrice: 1,
    oraclePrice: 1,
    midPrice: 1,
    premium: 0,
    impactBid: 1,
    impactAsk: 1,
    fundingRateHourly: 0,
    openInterestBase: 1,
    prevDayPrice: 1,
    ...stamp,
  }
}
