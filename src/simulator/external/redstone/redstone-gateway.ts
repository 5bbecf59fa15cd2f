import { sha256, stringToBytes } from 'viem'
import type { Clock } from '../../../domain/clock.ts'
import { gaussian, noiseKey } from '../../market/noise.ts'
import type { ReferencePrices } from '../reference-prices.ts'
import type { Upstream, UpstreamReply, UpstreamRequest } from '../upstream.ts'

/** All nodes sign at the same times. */
const PERIOD_MS = 10_000
const NODES = 5
/** Dispersion of the nodes, as a share of the confidence interval. */
const SPREAD_SHARE = 0.2
const BPS = 1e-4
const SERVICE = 'redstone-primary-prod'
const PATHS: ReadonlySet<string> = new Set([
  `/v2/data-packages/latest/${SERVICE}`,
  `/v2/data-packages/latest/${SERVICE}/hide-metadata`,
])
/** The name of packages with several data points. */
const ALL_FEEDS = '___ALL_FEEDS___'
const ALL_FEEDS_POINTS = 4

/** A gateway of RedStone: the newest packages of all feeds and nodes. The signatures are not valid. */
export function redstoneGateway(reference: ReferencePrices, clock: Clock): Upstream {
  let latest = { timeMs: Number.NaN, body: '' }
  const request = ({ path }: UpstreamRequest): UpstreamReply => {
    if (!PATHS.has(path)) return { status: 404, body: '{"statusCode":404,"message":"Not Found"}' }
    const newestMs = reference.newestMs('redstone', clock.nowMs())
    const timeMs = Math.floor(newestMs / PERIOD_MS) * PERIOD_MS
    if (latest.timeMs !== timeMs)
      latest = { timeMs, body: JSON.stringify(packagesAt(reference, timeMs)) }
    return { status: 200, body: latest.body }
  }
  return { request }
}

function packagesAt(
  reference: ReferencePrices,
  timeMs: number,
): Record<string, readonly unknown[]> {
  const packages: Record<string, readonly unknown[]> = {}
  const nodes = Array.from({ length: NODES }, (_, node) => node)
  for (const asset of reference.assets) {
    const values = nodes.map((node) => valueBy(reference, node, asset, timeMs))
    packages[asset] = values.flatMap((value, node) =>
      value === undefined ? [] : [signed(node, asset, [{ dataFeedId: asset, value }], timeMs)],
    )
  }
  packages[ALL_FEEDS] = nodes.map((node) => {
    const points = reference.assets.slice(0, ALL_FEEDS_POINTS).flatMap((asset) => {
      const value = valueBy(reference, node, asset, timeMs)
      return value === undefined ? [] : [{ dataFeedId: asset, value }]
    })
    return signed(node, ALL_FEEDS, points, timeMs)
  })
  return packages
}

function valueBy(
  reference: ReferencePrices,
  node: number,
  asset: string,
  timeMs: number,
): number | undefined {
  const seenUsd = reference.seenUsd('redstone', asset, timeMs)
  if (seenUsd === undefined) return undefined
  const spreadBps = SPREAD_SHARE * reference.confidenceBps('redstone', asset, timeMs)
  const key = noiseKey(reference.seed, 'redstone', asset, String(node))
  const value = seenUsd * (1 + spreadBps * BPS * gaussian(key, timeMs / PERIOD_MS))
  return Number(value.toPrecision(12))
}

function signed(node: number, id: string, dataPoints: readonly unknown[], timeMs: number) {
  const digest = sha256(stringToBytes(`${node} ${id} ${timeMs}`))
  return {
    timestampMilliseconds: timeMs,
    signature: Buffer.from(`${digest.slice(2).repeat(2)}1b`, 'hex').toString('base64'),
    dataPoints,
    dataServiceId: SERVICE,
    dataPackageId: id,
    signerAddress: `0x${sha256(stringToBytes(`redstone node ${node}`)).slice(2, 42)}`,
  }
}
