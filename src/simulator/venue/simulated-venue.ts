import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { WebSocket } from 'ws'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../domain/clock.ts'
import type { SimulatedSources } from '../external/simulated-sources.ts'
import { EXTERNAL_PATH } from '../external/simulated-sources.ts'
import { bodyOf, close, listen } from '../http-server.ts'
import type { BuilderDex } from '../market/builder-dexes.ts'
import type { Market, NewListing } from '../market/market.ts'
import type { VenueFault } from './fault.ts'
import type { HttpAnswer } from './info-endpoint.ts'
import { plainAnswer } from './info-endpoint.ts'
import type { VenueCadences, VenueLimits } from './limits.ts'
import { venueCadences, venueLimits } from './limits.ts'
import { Venue } from './venue.ts'

export type SimulatedVenue = {
  /** Ends in `/ws`. */
  readonly wsUrl: string
  /** Ends in `/info`. */
  readonly httpUrl: string
  /** Base URL, ends in `/outside/`; append the identifier of a source. */
  readonly externalUrl: string
  /** Added to recorded time to get the venue's; absent where nothing recorded is replayed. */
  readonly clockShiftMs?: number
  /** Ends every connection the hard way, as an outage does. */
  dropConnections(): void
  /** Appends a coin to the universe; its first bar is the quarter that is open now. */
  addListing(listing: NewListing): void
  delist(coin: string): void
  /** Begins a fault, or does what it does once. @returns false where there was nothing for it to befall. */
  inject(fault: VenueFault): boolean
  /** Stops all timers and ends all connections. */
  close(): Promise<void>
}

const LOOPBACK = '127.0.0.1'
const REQUEST_BYTES_MAX = 64 * 1024
const FRAME_BYTES_MAX = 64 * 1024

/** Serves a market over the venue's websocket and HTTP protocol. `port` 0 takes any free one. */
export async function startSimulatedVenue(options: {
  readonly market: Market
  /** Builder-deployed dexes; none if absent. */
  readonly builders?: readonly BuilderDex[]
  /** External sources, served on the same port and closed with the venue. */
  readonly external?: SimulatedSources
  readonly clock: Clock
  readonly host?: string
  readonly port: number
  readonly limits?: Partial<VenueLimits>
  readonly cadences?: Partial<VenueCadences>
}): Promise<SimulatedVenue> {
  const { market, builders = [], external, clock, host = LOOPBACK } = options
  const server = createServer()
  // Its timers would keep a process alive that has nothing to serve.
  const port = await listen(server, host, options.port).catch((cause: unknown) => {
    external?.close()
    throw cause
  })
  const venue = new Venue({
    market,
    builders,
    clock,
    limits: { ...venueLimits, ...options.limits },
    cadences: { ...venueCadences, ...options.cadences },
  })
  const sockets = serveSockets(server, venue, external)
  server.on('request', (request, response) => {
    const url = urlOf(request)
    const isExternal = external !== undefined && url.pathname.startsWith(EXTERNAL_PATH)
    const served = isExternal
      ? external.serve(url, request, response)
      : serveInfo(request, response, venue)
    // The body of an aborted upload cannot be read.
    served.catch(() => response.destroy())
  })
  return {
    wsUrl: `ws://${host}:${port}/ws`,
    externalUrl: `http://${host}:${port}${EXTERNAL_PATH}`,
    httpUrl: `http://${host}:${port}/info`,
    ...(market.clockShiftMs === 0 ? {} : { clockShiftMs: market.clockShiftMs }),
    dropConnections: () => venue.dropConnections(),
    addListing: (listing) => venue.addListing(listing),
    delist: (coin) => venue.delist(coin),
    inject: (fault) => venue.inject(fault),
    close: async () => {
      venue.close()
      external?.close()
      sockets.close()
      await close(server)
    },
  }
}

function serveSockets(
  server: Server,
  venue: Venue,
  external: SimulatedSources | undefined,
): WebSocketServer {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: FRAME_BYTES_MAX,
  })
  server.on('upgrade', (request, socket, head) => {
    const url = urlOf(request)
    if (external !== undefined && url.pathname.startsWith(EXTERNAL_PATH)) {
      sockets.handleUpgrade(request, socket, head, (webSocket) => external.attach(url, webSocket))
      return
    }
    if (url.pathname !== '/ws') {
      socket.on('error', () => socket.destroy())
      socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      attach(webSocket, request.socket.remoteAddress ?? '', venue)
    })
  })
  return sockets
}

function attach(webSocket: WebSocket, address: string, venue: Venue): void {
  const session = venue.connect(address, {
    send: (text) => webSocket.send(text),
    pause: () => webSocket.pause(),
    drop: (code) => (code === 1006 ? webSocket.terminate() : webSocket.close(code)),
    queuedBytes: () => webSocket.bufferedAmount,
  })
  // A failing socket also closes, and the session handles the close event.
  webSocket.on('error', () => webSocket.terminate())
  if (session === undefined) {
    webSocket.terminate()
    return
  }
  webSocket.on('message', (data, isBinary) => {
    if (!isBinary) session.receive(data.toString())
  })
  webSocket.on('close', () => session.close())
}

async function serveInfo(
  request: IncomingMessage,
  response: ServerResponse,
  venue: Venue,
): Promise<void> {
  const refused = refusedBeforeBody(request)
  if (refused !== undefined) {
    answer(response, refused)
    return
  }
  const text = await bodyOf(request, REQUEST_BYTES_MAX)
  answer(
    response,
    text === null
      ? plainAnswer(413, 'Payload Too Large')
      : venue.info(request.socket.remoteAddress ?? '', text),
  )
}

function refusedBeforeBody(request: IncomingMessage): HttpAnswer | undefined {
  if (urlOf(request).pathname !== '/info') return plainAnswer(404, 'Not Found')
  if (request.method !== 'POST') return plainAnswer(405, 'Method Not Allowed')
  if (request.headers['content-type']?.startsWith('application/json') === true) return undefined
  return plainAnswer(415, 'Expected request with `Content-Type: application/json`')
}

/** Without an answer the request stays open until the client gives up. */
function answer(response: ServerResponse, given: HttpAnswer | undefined): void {
  if (given === undefined) return
  const { status, body, isJson } = given
  response.writeHead(status, {
    'content-type': isJson ? 'application/json' : 'text/plain; charset=utf-8',
  })
  response.end(body)
}

/** A target that is no URL, such as `//`, is a path that does not exist. */
function urlOf({ url = '/' }: IncomingMessage): URL {
  const base = 'http://venue'
  return new URL(URL.canParse(url, base) ? url : '/', base)
}
