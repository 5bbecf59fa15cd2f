import type { Exchange } from '../../../domain/external.ts'
import type { ExchangeFrame } from './exchange-frame.ts'
import type { Naming } from './products.ts'

/** What tells one exchange from another. */
export type ExchangeProtocol = {
  readonly exchange: Exchange
  readonly naming: Naming
  /** Appended to the address. */
  readonly path: string
  /** Said as soon as the connection stands. */
  readonly opening: readonly string[]
  /** Said every few seconds; null where the exchange speaks often enough unasked. */
  readonly ping: string | null
  /** Products in one request. */
  readonly batchMax: number
  /** One unknown product, and the exchange ignores the whole request. */
  readonly isBatchAtomic: boolean
  /** @param request counts from 1 on each connection */
  readonly subscribe: (products: readonly string[], request: number) => string
  /** Never throws: a frame is the other side's, so whatever it holds is data. */
  readonly decode: (text: string) => ExchangeFrame
}
