import type { IncomingMessage, ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import type { Clock } from '../../domain/clock.ts'
import type { SourceId } from '../../domain/external.ts'
import { evmUpstream } from './evm/evm-upstream.ts'
import { pythEvmUpstream } from './evm/pyth-upstream.ts'
import { simulatedBinance } from './exchanges/binance.ts'
import { simulatedBybit } from './exchanges/bybit.ts'
import { simulatedCoinbase } from './exchanges/coinbase.ts'
import { simulatedKraken } from './exchanges/kraken.ts'
import { simulatedOkx } from './exchanges/okx.ts'
import { alternativeMe } from './fear-greed/alternative-me.ts'
import { hermes } from './pyth-hermes/hermes.ts'
import { redstoneGateway } from './redstone/redstone-gateway.ts'
import { solanaUpstream } from './solana/solana-upstream.ts'
import { stablecoinsLlama } from './stablecoin-supply/stablecoins-llama.ts'
import type { NewUpstream, Upstream, UpstreamReply } from './upstream.ts'
import type { World } from './world.ts'

/** All sources stand below this path of the simulator, each under its own name. */
export const EXTERNAL_PATH = '/outside/'

const REQUEST_BYTES_MAX = 1024 * 1024

/** One for each source that has an address of its own. */
export const upstreams: Partial<Readonly<Record<SourceId, NewUpstream>>> = {
  'pyth-hermes': hermes,
  'pyth-evm': pythEvmUpstream,
  redstone: redstoneGateway,
  coinbase: simulatedCoinbase,
  kraken: simulatedKraken,
  binance: simulatedBinance,
  okx: simulatedOkx,
  bybit: simulatedBybit,
  ethereum: evmUpstream('ethereum'),
  arbitrum: evmUpstream('arbitrum'),
  base: evmUpstream('base'),
  optimism: evmUpstream('optimism'),
  polygon: evmUpstream('polygon'),
  bsc: evmUpstream('bsc'),
  avalanche: evmUpstream('avalanche'),
  solana: solanaUpstream,
  'fear-greed': alternativeMe,
  'stablecoin-supply': stablecoinsLlama,
}

/**
 * Serves every source of a world at `/outside/<source>`: HTTP and websockets on the port of whoever owns
 * the server. A source that is dead breaks its connections, and one that stalls says nothing.
 */
export class SimulatedSources {
  readonly #world: World
  readonly #clock: Clock
  readonly #upstreams: ReadonlyMap<SourceId, Upstream>
  readonly #open = new Map<SourceId, Set<() => void>>()
  readonly #stopDying: () => void

  constructor(world: World, clock: Clock) {
    this.#world = world
    this.#clock = clock
    this.#upstreams = new Map(
      Object.entries(upstreams).map(([id, make]) => [id as SourceId, make(world, clock)]),
    )
    this.#stopDying = clock.every(250, () => this.#breakDead())
  }

  get ids(): readonly SourceId[] {
    return [...this.#upstreams.keys()]
  }

  serve(url: URL, request: IncomingMessage, response: ServerResponse): void {
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
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= REQUEST_BYTES_MAX) chunks.push(chunk)
    })
    request.on('end', () => {
      const reply = upstream.request?.({
        method: request.method ?? 'GET',
        path,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      })
      this.#reply(id, reply ?? null, response)
    })
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
    const session = upstream.connect(path, {
      send: (text) => {
        if (!this.#world.isStalled(id, this.#clock.nowMs())) webSocket.send(text)
      },
      drop,
      ping: () => webSocket.ping(),
    })
    const forget = this.#remember(id, drop)
    webSocket.on('message', (data, isBinary) => {
      if (!isBinary) session.receive(String(data))
    })
    webSocket.on('pong', () => session.ponged?.())
    webSocket.on('close', () => {
      forget()
      session.close()
    })
  }

  close(): void {
    this.#stopDying()
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
      if (!this.#world.isStalled(id, this.#clock.nowMs())) response.write(text)
    }
    const stop = reply.start(write, () => response.end())
    const forget = this.#remember(id, () => response.destroy())
    response.on('close', () => {
      forget()
      stop()
    })
  }

  #remember(id: SourceId, drop: () => void): () => void {
    const drops = this.#open.get(id) ?? new Set()
    this.#open.set(id, drops)
    drops.add(drop)
    return () => drops.delete(drop)
  }

  #isDead(id: SourceId): boolean {
    return this.#world.isDead(id, this.#clock.nowMs())
  }

  #breakDead(): void {
    for (const [id, drops] of this.#open)
      if (this.#isDead(id)) for (const drop of [...drops]) drop()
  }
}

/** `/outside/okx/ws/v5` is `/ws/v5` of `okx`. */
function addressOf({ pathname }: URL): { readonly id: SourceId; readonly path: string } {
  const below = pathname.slice(EXTERNAL_PATH.length)
  const slash = below.indexOf('/')
  const id = (slash === -1 ? below : below.slice(0, slash)) as SourceId
  return { id, path: slash === -1 ? '/' : below.slice(slash) }
}
