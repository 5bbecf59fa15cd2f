import type { Exchange } from '../../../domain/external.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import type { Naming } from './products.ts'

/** The differences between exchanges. */
export type ExchangeProtocol = {
  readonly exchange: Exchange
  readonly naming: Naming
  /** Appended to the address. */
  readonly path: string
  /** Sent when the connection opens. */
  readonly opening: readonly string[]
  /** Sent every ten seconds; null if the exchange sends frames often enough without it. */
  readonly ping: string | null
  /** Products per request. */
  readonly batchMax: number
  /** Whether one unknown product makes the exchange reject the whole request. */
  readonly isBatchAtomic: boolean
  /** @param request counts from 1 on each connection */
  readonly subscribe: (products: readonly string[], request: number) => string
  /** Never throws. */
  readonly decode: (text: string) => ExchangeFrame
}
