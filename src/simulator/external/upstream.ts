import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../domain/clock.ts'
import type { ReferencePrices } from './reference-prices.ts'

/** One request. The path is relative to the root of the source, such as `/v2/price_feeds`. */
export type UpstreamRequest = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type UpstreamReply =
  | {
      readonly status: number
      readonly body: string
      /** JSON where absent. */
      readonly contentType?: string
    }
  /** An endless body: `start` writes until the returned function is called. */
  | {
      readonly contentType: string
      readonly start: (write: (text: string) => void, end: () => void) => () => void
    }
  /** The request is never answered. */
  | null

/** The client of a simulated WebSocket. */
export type UpstreamPeer = {
  send(text: string): void
  /** Terminates the connection without a close frame. */
  drop(): void
  /** Sends a ping control frame. */
  ping?(): void
}

export type UpstreamSession = {
  receive(text: string): void
  /** A pong control frame arrived. */
  ponged?(): void
  /** The connection ended: stop all timers. */
  close(): void
}

/** One simulated source, over HTTP, WebSocket or both. */
export type Upstream = {
  readonly request?: (request: UpstreamRequest) => UpstreamReply
  /** `target`: path and query. */
  readonly connect?: (target: string, peer: UpstreamPeer) => UpstreamSession
}

export type NewUpstream = (reference: ReferencePrices, clock: Clock) => Upstream
