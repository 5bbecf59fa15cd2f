import { describe, expect, test } from 'vitest'
import type { ExchangeQuoteEvent, OraclePriceEvent } from '../../domain/external.ts'
import { ExternalState } from './external-state.ts'

const NOW_MS = Date.UTC(2026, 5, 1)

function price(changes: Partial<OraclePriceEvent> = {}): OraclePriceEvent {
  return {
    kind: 'oracle-price',
    network: 'pyth-hermes',
    place: '',
    asset: 'BTC',
    priceUsd: 100,
    confidenceUsd: 1,
    ema: null,
    resolutionBps: 0,
    heartbeatMs: 5_000,
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
    ...changes,
  }
}

function quote(changes: Partial<ExchangeQuoteEvent> = {}): ExchangeQuoteEvent {
  return {
    kind: 'exchange-quote',
    exchange: 'kraken',
    asset: 'BTC',
    quote: 'USD',
    bid: 99,
    ask: 101,
    bidSizeBase: 1,
    askSizeBase: 1,
    timeExchangeMs: NOW_MS,
    timeReceivedMs: NOW_MS,
    ...changes,
  }
}

function stateOf(...events: Parameters<ExternalState['apply']>[0][]): ExternalState {
  const state = new ExternalState()
  for (const event of events) state.apply(event)
  return state
}

describe('newest event of every source', () => {
  test('replaces the one before', () => {
    const newer = price({ priceUsd: 101, timeExchangeMs: NOW_MS + 1 })
    expect(stateOf(price(), newer).oraclesOf('BTC')).toEqual([newer])
  })

  test('is not replaced by an older one that came late', () => {
    const late = price({ priceUsd: 90, timeExchangeMs: NOW_MS - 1, timeReceivedMs: NOW_MS + 5_000 })
    expect(stateOf(price(), late).oraclesOf('BTC')).toEqual([price()])
  })

  test('one that was stamped in the future does not bar those of the present', () => {
    const future = price({ timeExchangeMs: NOW_MS + 3_600_000 })
    const present = price({ timeExchangeMs: NOW_MS + 1_000, timeReceivedMs: NOW_MS + 1_000 })
    expect(stateOf(future, present).oraclesOf('BTC')).toEqual([present])
  })

  test('feeds of one network in two places stand side by side', () => {
    const [one, other] = [price({ place: 'base' }), price({ place: 'ethereum' })]
    expect(stateOf(one, other).oraclesOf('BTC')).toEqual([one, other])
  })

  test('quotes in two currencies stand side by side', () => {
    const state = stateOf(quote(), quote({ quote: 'USDC', bid: 98 }))
    expect(state.quotesOf('BTC')).toHaveLength(2)
    expect(state.quote('kraken', 'BTC', 'USDC')?.bid).toBe(98)
    expect(state.quote('okx', 'BTC', 'USDC')).toBeNull()
  })

  test('a source that invents names without end fills no memory', () => {
    const state = new ExternalState()
    for (let at = 0; at < 5_000; at += 1) state.apply(price({ place: `p${at}` }))
    expect(state.oraclesOf('BTC').length).toBeLessThan(100)
  })
})
