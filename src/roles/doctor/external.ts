import { takeUntil, timer } from 'rxjs'
import type { DoctorFinding } from '../../domain/desk-reports.ts'
import type { MarketEvent } from '../../domain/event.ts'
import type { SourceId, SourceStatusEvent } from '../../domain/external.ts'
import {
  exchanges,
  isExternal,
  oracleNetworks,
  sourceIds,
  sourceOf,
} from '../../domain/external.ts'
import { externalFeed } from '../../streams/external/external-feed.ts'
import type { ExternalRuntime } from '../../streams/runtime.ts'
import type { ExternalAddresses } from '../external-source.ts'
import { ok, warn } from './finding.ts'

/** Chains are asked every ten seconds, and the first time at once. */
const LISTENED_MS = 8_000
/** Every source knows these. */
const ASSETS = ['BTC', 'ETH', 'SOL'] as const

/** What a source is there for, and what is missing without it. */
type Purpose = { readonly use: string; readonly without: string }

const ORACLE: Purpose = {
  use: 'spot price for /basis, USDC for /depeg',
  without: 'the next best network stands in, and the answer says so',
}
const EXCHANGE: Purpose = {
  use: 'one leg of /cex-dex, a vote in /arb and /depeg',
  without: 'two of the five exchanges are enough',
}
const CHAIN: Purpose = {
  use: 'pools and gas for /arb',
  without: 'that chain is left out; below five chains /arb is not sold',
}

const purposes: Readonly<Record<SourceId, Purpose>> = {
  ...same(oracleNetworks, ORACLE),
  ...same(exchanges, EXCHANGE),
  ethereum: CHAIN,
  base: CHAIN,
  arbitrum: CHAIN,
  optimism: CHAIN,
  polygon: CHAIN,
  bsc: CHAIN,
  avalanche: CHAIN,
  solana: CHAIN,
  'pyth-hermes': {
    use: 'best spot price for /basis and /depeg',
    without: 'prices from chains are up to a minute older: --pyth-key turns it on',
  },
  'fear-greed': {
    use: 'one tenth of /sentiment',
    without: 'the other sources weigh more, and coverage says so',
  },
  'stablecoin-supply': {
    use: 'redemptions in /depeg',
    without: 'that part of the health score is left out',
  },
}

type Received = { status: SourceStatusEvent | null; newest: MarketEvent | null; events: number }

/** Listens to every source beyond the venue for some seconds, as the service would. */
export async function checkExternal(
  addresses: ExternalAddresses,
  runtime: ExternalRuntime,
): Promise<readonly DoctorFinding[]> {
  const received = new Map<SourceId, Received>()
  await new Promise<void>((resolve) => {
    const feed = externalFeed(addresses, { assets: () => ASSETS, onNotice: () => {} }, runtime)
    const end = timer(LISTENED_MS, runtime.scheduler)
    feed.pipe(takeUntil(end)).subscribe({
      next: (batch) => {
        for (const event of batch) note(received, event)
      },
      complete: resolve,
    })
  })
  const nowMs = runtime.scheduler.now()
  return sourceIds.map((id) => findingOf(id, received.get(id), nowMs))
}

function note(received: Map<SourceId, Received>, event: MarketEvent): void {
  if (!isExternal(event)) return
  const source = event.kind === 'source-status' ? event.source : sourceOf(event)
  if (source === null) return
  const known = received.get(source) ?? { status: null, newest: null, events: 0 }
  received.set(source, known)
  if (event.kind === 'source-status') known.status = event
  else {
    known.events += 1
    if (!(event.timeExchangeMs <= (known.newest?.timeExchangeMs ?? 0))) known.newest = event
  }
}

function findingOf(id: SourceId, received: Received | undefined, nowMs: number): DoctorFinding {
  const check = `source ${id}`
  const { use, without } = purposes[id]
  if (received === undefined) return warn(check, `turned off; ${use}`, without)
  const { status, newest, events } = received
  const state = status?.state ?? 'up'
  if (newest !== null && (state === 'up' || state === 'degraded')) {
    const ageS = Math.max(0, (nowMs - newest.timeExchangeMs) / 1_000)
    const found = `${events} values, newest ${ageS.toFixed(1)} s old; ${use}`
    return state === 'up' ? ok(check, found) : warn(check, `${status?.reason}; ${found}`, without)
  }
  const why = status === null ? 'no data received' : `${state}: ${status.reason}`
  return warn(check, `${why}; ${use}`, without)
}

function same<Id extends SourceId>(ids: readonly Id[], purpose: Purpose): Record<Id, Purpose> {
  return Object.fromEntries(ids.map((id) => [id, purpose])) as Record<Id, Purpose>
}
