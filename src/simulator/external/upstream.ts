import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../../domain/clock.ts'
import type { World } from './world.ts'

/** One request to a simulated source, its path below the source's own root, such as `/v2/price_feeds`. */
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
  /** A body that does not end: `start` writes until the function that it returns is called. */
  | {
      readonly contentType: string
      readonly start: (write: (text: string) => void, end: () => void) => () => void
    }
  /** Never answered. */
  | null

/** The other side of a simulated websocket. */
export type UpstreamPeer = {
  send(text: string): void
  /** Ends the connection the hard way. */
  drop(): void
  /** Sends the websocket's own ping. */
  ping?(): void
}

export type UpstreamSession = {
  receive(text: string): void
  /** The peer answered a ping. */
  ponged?(): void
  /** The peer is gone: every timer of this session ends. */
  close(): void
}

/** One simulated source: what it answers to requests, to websockets, or to both. */
export type Upstream = {
  readonly request?: (request: UpstreamRequest) => UpstreamReply
  readonly connect?: (path: string, peer: UpstreamPeer) => UpstreamSession
}

/** Makes one simulated source. */
export type NewUpstream = (world: World, clock: Clock) => Upstream
