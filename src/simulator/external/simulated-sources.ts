import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import type { Clock } from '../../domain/clock.ts'
import type { SourceId } from '../../domain/external.ts'
import { bodyOf } from '../http-server.ts'
import { evmNode } from './evm/evm-node.ts'
import { pythNode } from './evm/pyth-node.ts'
import { simulatedBinance } from './exchanges/binance.ts'
import { simulatedBybit } from './exchanges/bybit.ts'
import { simulatedCoinbase } from './exchanges/coinbase.ts'
import { simulatedKraken } from './exchanges/kraken.ts'
import { simulatedOkx } from './exchanges/okx.ts'
import { alternativeMe } from './fear-greed/alternative-me.ts'
import { hermes } from './pyth-hermes/hermes.ts'
import { redstoneGateway } from './redstone/redstone-gateway.ts'
import type { ReferencePrices } from './reference-prices.ts'
import { solanaNode } from './solana/solana-node.ts'
import { stablecoinsLlama } from './stablecoin-supply/stablecoins-llama.ts'
import type { NewUpstream, Upstream, UpstreamReply } from './upstream.ts'

/** The path of all sources on the simulator's port; the identifier of the source follows. */
export const EXTERNAL_PATH = '/outside/'

const REQUEST_BYTES_MAX = 1024 * 1024

/** Every source that has an address. */
export const upstreams: Partial<Readonly<Record<SourceId, NewUpstream>>> = {
  'pyth-hermes': hermes,
  'pyth-evm': pythNode,
  redstone: redstoneGateway,
  coinbase: simulatedCoinbase,
  kraken: simulatedKraken,
  binance: simulatedBinance,
  okx: simulatedOkx,
  bybit: simulatedBybit,
  ethereum: evmNode('ethereum'),
  arbitrum: evmNode('arbitrum'),
  base: evmNode('base'),
  optimism: evmNode('optimism'),
  polygon: evmNode('polygon'),
  bsc: evmNode('bsc'),
  avalanche: evmNode('avalanche'),
  solana: solanaNode,
  'fear-greed': alternativeMe,
  'stablecoin-supply': stablecoinsLlama,
}

/**
 * Serves every source at `/outside/<source>` over HTTP and WebSocket on the port of the simulated venue. A
 * dead source terminates its connections, a stalled one sends nothing.
 */
export class SimulatedSources {
  readonly #reference: ReferencePrices
  readonly #clock: Clock
  readonly #upstreams: ReadonlyMap<SourceId, Upstream>
  readonly #open = new Map<SourceId, Set<() => void>>()
  readonly #stopChecking: () => void

  constructor(reference: ReferencePrices, clock: Clock) {
    this.#reference = reference
    this.#clock = clock
    this.#upstreams = new Map(
      Object.entries(upstreams).map(([id, make]) => [id as SourceId, make(reference, clock)]),
    )
    this.#stopChecking = clock.every(250, () => this.#dropDead())
  }

  get ids(): readonly SourceId[] {
    return [...this.#upstreams.keys()]
  }

  async serve(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { id, path } = addressOf(url)
    const upstream = this.#upstreams.get(id)
    if (upstream === undefined) {
      response.writeHead(404).end()
      return
    }
    if (this.#isDead(id)) {
      request.socket.destroy()
      return
    }
    const reply = upstream.request?.({
      method: request.method ?? 'GET',
      path,
      query: url.searchParams,
      headers: request.headers,
      body: (await bodyOf(request, REQUEST_BYTES_MAX)) ?? '',
    })
    this.#reply(id, reply ?? null, response)
  }

  attach(url: URL, webSocket: WebSocket): void {
    const { id, path } = addressOf(url)
    const upstream = this.#upstreams.get(id)
    webSocket.on('error', () => webSocket.terminate())
    if (upstream?.connect === undefined || this.#isDead(id)) {
      webSocket.terminate()
      return
    }
    const drop = () => webSocket.terminate()
    const session = upstream.connect(path + url.search, {
      send: (text) => {
        if (!this.#reference.isStalled(id, this.#clock.nowMs())) webSocket.send(text)
      },
      drop,
      ping: () => webSocket.ping(),
    })
    const unregister = this.#register(id, drop)
    webSocket.on('message', (data, isBinary) => {
      if (!isBinary) session.receive(String(data))
    })
    webSocket.on('pong', () => session.ponged?.())
    webSocket.on('close', () => {
      unregister()
      session.close()
    })
  }

  close(): void {
    this.#stopChecking()
    for (const drops of this.#open.values()) for (const drop of [...drops]) drop()
  }

  #reply(id: SourceId, reply: UpstreamReply, response: ServerResponse): void {
    if (reply === null) return
    if ('body' in reply) {
      response.writeHead(reply.status, { 'content-type': reply.contentType ?? 'application/json' })
      response.end(reply.body)
      return
    }
    response.writeHead(200, { 'content-type': reply.contentType })
    const write = (text: string) => {
      if (!this.#reference.isStalled(id, this.#clock.nowMs())) response.write(text)
    }
    const stop = reply.start(write, () => response.end())
    const unregister = this.#register(id, () => response.destroy())
    response.on('close', () => {
      unregister()
      stop()
    })
  }

  #register(id: SourceId, drop: () => void): () => void {
    const drops = this.#open.get(id) ?? new Set()
    this.#open.set(id, drops)
    drops.add(drop)
    return () => drops.delete(drop)
  }

  #isDead(id: SourceId): boolean {
    return this.#reference.isDead(id, this.#clock.nowMs())
  }

  #dropDead(): void {
    for (const [id, drops] of this.#open)
      if (this.#isDead(id)) for (const drop of [...drops]) drop()
  }
}

/** `/outside/okx/ws/v5` is the path `/ws/v5` of `okx`. */
function addressOf({ pathname }: URL): { readonly id: SourceId; readonly path: string } {
  const below = pathname.slice(EXTERNAL_PATH.length)
  const slash = below.indexOf('/')
  const id = (slash === -1 ? below : below.slice(0, slash)) as SourceId
  return { id, path: slash === -1 ? '/' : below.slice(slash) }
}
