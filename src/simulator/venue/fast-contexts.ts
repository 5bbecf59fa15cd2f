import { deflateRawSync } from 'node:zlib'
import { decimalText, priceDecimalsMax } from '../market/precision.ts'
import type { Dexes } from './dexes.ts'
import { externalMids, spotNamesOf } from './spot.ts'

type FastContext = { markPx?: string; midPx?: string | null }

/**
 * The state of `fastAssetCtxs`: a new subscriber gets the whole of it, and every tick what has
 * changed since the tick before.
 */
export class FastContexts {
  #last = new Map<string, Required<FastContext>>()

  /** Frame with all coins as of the last tick. */
  snapshot(): string {
    return frame(this.#last)
  }

  /** Frame with the changed coins and fields only; undefined when nothing moved. */
  tick(dexes: Dexes, viewMs: number): string | undefined {
    const before = this.#last
    this.#last = contextsAt(dexes, viewMs)
    const changed = new Map<string, FastContext>()
    for (const [coin, context] of this.#last) {
      const known = before.get(coin)
      const change: FastContext = {}
      if (context.markPx !== known?.markPx) change.markPx = context.markPx
      if (context.midPx !== known?.midPx) change.midPx = context.midPx
      if (Object.keys(change).length > 0) changed.set(coin, change)
    }
    return changed.size === 0 ? undefined : frame(changed)
  }
}

/** Perpetuals of every dex, and what the venue mixes in where there is more than the main one. */
function contextsAt(dexes: Dexes, viewMs: number): Map<string, Required<FastContext>> {
  const contexts = new Map<string, Required<FastContext>>()
  for (const { market } of dexes.all) {
    for (const { coin, sizeDecimals } of market.universe()) {
      const context = market.context(coin, viewMs)
      if (context === undefined) continue
      const decimals = priceDecimalsMax(sizeDecimals)
      const { midPrice } = context
      const fast = {
        markPx: decimalText(context.markPrice, decimals),
        midPx: midPrice === null ? null : decimalText(midPrice, decimals),
      }
      contexts.set(coin, fast)
      for (const name of spotNamesOf(coin)) contexts.set(name, fast)
    }
  }
  if (dexes.builders.length > 0) {
    for (const [name, mid] of Object.entries(externalMids(viewMs))) {
      contexts.set(name, { markPx: mid, midPx: mid })
    }
  }
  return contexts
}

/** Base64 of raw DEFLATE (RFC 1951) of the JSON text. */
function frame(contexts: ReadonlyMap<string, FastContext>): string {
  const json = JSON.stringify(Object.fromEntries(contexts))
  return JSON.stringify({
    channel: 'fastAssetCtxs',
    data: deflateRawSync(json).toString('base64'),
  })
}
