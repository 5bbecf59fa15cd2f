import type { FastifyInstance } from 'fastify'
import type { AnswerProofs } from '../domain/answer-proof.ts'
import type { Clock } from '../domain/clock.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import { pathTemplateOf } from '../domain/contract.ts'
import type { DexStatus } from '../domain/dex.ts'
import type { StoreHealth } from '../domain/history.ts'
import { isoInstant } from '../domain/instant.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import type { Mirror } from '../link/broker/mirror.ts'
import type { EngineReader } from '../link/engine-replica.ts'
import type { FeedHealth } from '../link/message.ts'
import { compressAnswer } from './compress-answer.ts'
import type { ConsolePage } from './console/console-page.ts'
import { discoveryPaths } from './discovery/discovery-routes.ts'
import type { MaintenanceState } from './maintenance-switch.ts'
import type { ServiceReadiness } from './paid-route.ts'
import { discoveryHeaders } from './response-headers.ts'
import type { FreeDocument } from './send-document.ts'
import { freeDocument, sendDocument } from './send-document.ts'
import { refuseParameters } from './unknown-parameter.ts'

export type FreeRoutesOptions = {
  readonly contracts: readonly AnalysisContract[]
  readonly engine: EngineReader
  readonly maintenance: MaintenanceState
  readonly clock: Clock
  readonly version: string
  readonly readiness?: ServiceReadiness
  /** Of what was sold, if this gateway keeps it. */
  readonly proofs?: AnswerProofs
  /** If the engine is another process. */
  readonly mirror?: MirrorReader
  /** What browsers get at `/`; null for JSON alone. */
  readonly consolePage: ConsolePage | null
  readonly status: StatusPage
}

/** `/status`, rendered ahead. */
export type StatusPage = { readonly document: FreeDocument }

/** How well this process follows the engine. */
type MirrorReader = Pick<Mirror, 'isReady' | 'silentMs' | 'epoch'>

const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

/** Free paths without a rate limit: index, health, status and list of coins. */
export function freeRoutes(app: FastifyInstance, options: FreeRoutesOptions): void {
  const { clock, engine } = options
  const startedAtMs = clock.nowMs()
  const indexDocument = freeDocument(JSON_MEDIA_TYPE, JSON.stringify(index(options)))

  app.get('/', (request, reply) => {
    if (options.consolePage?.sendIfPreferred(request, reply)) return
    sendDocument(request, reply, indexDocument, { vary: 'Accept' })
  })

  app.get('/health', { onSend: compressAnswer }, (_request, reply) => {
    void reply
      .type(JSON_MEDIA_TYPE)
      .headers({ ...discoveryHeaders, 'cache-control': 'no-store', vary: 'Accept-Encoding' })
      .send(Buffer.from(JSON.stringify(health(options, startedAtMs))))
  })

  app.get('/status', (request, reply) => {
    if (options.consolePage?.sendIfPreferred(request, reply)) return
    sendDocument(request, reply, options.status.document, {
      ...{ cacheControl: 'no-cache', vary: 'Accept' },
    })
  })

  app.get('/coins', { onRequest: refuseParameters, onSend: compressAnswer }, (_request, reply) => {
    const coins = engine.coins()
    const body = {
      coins,
      count: coins.length,
      dexes: engine.dexes().map(dexStatus),
      timestamp_iso: isoInstant(clock.nowMs()),
    }
    void reply
      .type(JSON_MEDIA_TYPE)
      .headers({
        ...discoveryHeaders,
        'cache-control': 'public, max-age=60',
        vary: 'Origin, Accept-Encoding',
      })
      .send(Buffer.from(JSON.stringify(body)))
  })
}

/** An engine that starts or does not respond is degraded: the documents of a silent one age visibly. */
function health(options: FreeRoutesOptions, startedAtMs: number) {
  const { clock, engine, maintenance, mirror, readiness, version } = options
  const nowMs = clock.nowMs()
  const state = engine.state(nowMs)
  const feeds = engine.feeds()
  const checks = checksOf(readiness)
  const isOk =
    state === 'available' &&
    !maintenance.isOn &&
    feeds.every((feed) => feed.state === 'up') &&
    Object.values(checks).every((isOk) => isOk)
  return {
    status: isOk ? 'ok' : 'degraded',
    // As in the specification: unavailable where paid paths answer 500.
    engine: state === 'unavailable' && !engine.isStarting ? 'unavailable' : 'available',
    kill_switch: maintenance.isOn ? 'disabled' : 'enabled',
    version,
    ...(readiness && { checks }),
    ...(mirror && { mirror: mirrorStatus(mirror) }),
    feeds: feeds.map((feed) =>
      state === 'unavailable' ? feedWithoutEngine(feed) : feedStatus(feed),
    ),
    dexes: state === 'unavailable' ? [] : engine.dexes().map(dexStatus),
    store: state === 'unavailable' ? null : storeStatus(engine.store()),
    uptime_seconds: Math.max(0, Math.floor((nowMs - startedAtMs) / 1000)),
    since_iso: isoInstant(startedAtMs),
  }
}

/** Without reasons, which name internal nodes and files; the admin port shows them. */
function checksOf(readiness: ServiceReadiness | undefined): Readonly<Record<string, boolean>> {
  if (readiness === undefined) return {}
  const sales = readiness.sales?.checks() ?? []
  return {
    ...Object.fromEntries(sales.map(({ check, fault }) => [check, fault === null])),
    clock: !readiness.isClockOff(),
  }
}

function mirrorStatus({ isReady, epoch, silentMs }: MirrorReader) {
  return {
    ready: isReady,
    leader_epoch: epoch,
    heartbeat_age_seconds: Math.round(silentMs) / 1_000,
  }
}

function feedStatus({ feed, state, sinceMs, reason }: FeedHealth) {
  return { feed, state, since_iso: isoInstant(sinceMs), reason }
}

/** The venue publishes neither trading sessions nor the underlying of a dex. */
function dexStatus(dex: DexStatus) {
  return {
    name: dex.name,
    full_name: dex.fullName,
    followed: dex.isFollowed,
    reason: dex.reason,
    share_pct: dex.sharePct === null ? null : Number(dex.sharePct.toFixed(2)),
    coins: dex.coins,
    coins_left_out: dex.coinsLeftOut,
    quote_unit: dex.quoteUnit,
    reference_price: 'deployer_oracle',
    session_hours: null,
    judged_iso: dex.judgedAtMs === null ? null : isoInstant(dex.judgedAtMs),
  }
}

/** Without the reason, which may name files; the admin port shows it. */
function storeStatus(store: StoreHealth | null) {
  if (store === null) return null
  const { state, sinceMs, droppedRows, damagedBlocks, setAsideFiles } = store
  return {
    state,
    since_iso: isoInstant(sinceMs),
    dropped_rows: droppedRows,
    damaged_blocks: damagedBlocks,
    set_aside_files: setAsideFiles,
  }
}

/** Without an engine the last report is outdated. */
function feedWithoutEngine({ feed }: FeedHealth) {
  return { feed, state: 'down', since_iso: null, reason: 'engine unavailable' }
}

function index({ contracts, version, proofs }: FreeRoutesOptions) {
  const provable = proofs === undefined ? [] : ['/proof', '/proof/{sha256}']
  return {
    service: 'perpscope',
    version,
    free: [
      ...['/health', '/status', '/coins', '/sample/{analysis}'],
      ...['/track-record', '/track-record/{family}', '/track-record/{family}/claims?day='],
      '/track-record/graveyard',
      ...provable,
      ...discoveryPaths,
    ],
    agents: ['/mcp', '/a2a'],
    paid: contracts.map((contract) => ({
      path: pathTemplateOf(contract),
      summary: contract.summary,
      price_usdc: usdcDecimal(contract.priceUsdcAtomic),
    })),
  }
}
