import type { OraclePriceEvent } from '../../../domain/external.ts'
import { isPlausiblePrice, isPlausibleTime } from '../plausible.ts'
import type { DecodedReply } from '../polled-source.ts'
import type { DecodeIssue } from '../source.ts'
import { ownMember, parseUntrusted, untrustedList } from '../untrusted-json.ts'

/** The reply with all feeds and five signers each is about 2 MB. */
const BODY_CHARS_MAX = 12 * 1024 * 1024
/** Five nodes sign for the service. */
const PACKAGES_MAX = 64
/** A value of a single node is not a consensus. */
const SIGNERS_MIN = 2
/** As a share of the price: with more disagreement the nodes price different things. */
const DEVIATION_MAX = 0.1

/**
 * Most nodes sign the same value, because they run the same program on the same exchanges. Their agreement
 * is therefore no better than the difference between those exchanges, 1 bps.
 */
const CONFIDENCE_MIN = 1e-4

/** Nodes sign every 10 s, with or without a price change. */
const HEARTBEAT_MS = 30_000
/**
 * RedStone has no deviation trigger. The unknown part is the move until the next package is read, some 20 s:
 * 0.6 sqrt(20 s / 1 year) is 5 bps for a volatility of 60 % a year, and far below 1 bps for a stablecoin.
 */
const RESOLUTION_BPS = 5
const PEGGED_RESOLUTION_BPS = 1
const PEGGED: ReadonlySet<string> = new Set(['USDC', 'USDT'])

type Signed = { readonly signer: string; readonly timeMs: number; readonly value: number }

/**
 * `{<feed>: [{timestampMilliseconds, signature, signerAddress, dataPackageId, dataPoints}]}` of the
 * gateway. For each asset the newest instant with at least two signers is used: price is the median of the
 * nodes, confidence their mean absolute deviation from it, at least 1 bps. Both are the maximum likelihood
 * estimates of a Laplace distribution, whose scale Pyth also calls confidence.
 *
 * Signatures are not verified: the gateway is trusted by its TLS certificate, and analyses compare its
 * prices with those of other networks.
 */
export function decodePackages(
  body: string,
  nowMs: number,
  assets: readonly string[],
): DecodedReply {
  const reply = parseUntrusted(body, BODY_CHARS_MAX)
  const issues: DecodeIssue[] = []
  const events: OraclePriceEvent[] = []
  for (const asset of assets) {
    const packages = ownMember(reply, asset)
    if (packages === undefined) continue
    const signed = untrustedList(packages, PACKAGES_MAX).flatMap((one) =>
      signedBy(one, asset, nowMs),
    )
    const event = consensus(asset, signed, nowMs)
    if (event === null)
      issues.push({
        kind: 'price_refused',
        detail: `${asset}: fewer than ${SIGNERS_MIN} nodes agree`,
      })
    else events.push(event)
  }
  if (events.length === 0) issues.push({ kind: 'undecodable', detail: body.slice(0, 200) })
  return { events, issues }
}

/** The median of an even number of values is the mean of the middle two. @returns 0 for no values */
export function medianAndDeviation(values: readonly number[]): {
  readonly median: number
  readonly deviation: number
} {
  const sorted = values.toSorted((one, other) => one - other)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? 0
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? 0
  const median = lower + (upper - lower) / 2
  const distance = values.reduce((sum, value) => sum + Math.abs(value - median), 0)
  return { median, deviation: values.length === 0 ? 0 : distance / values.length }
}

function consensus(
  asset: string,
  signed: readonly Signed[],
  nowMs: number,
): OraclePriceEvent | null {
  const instants = new Set(signed.map(({ timeMs }) => timeMs))
  for (const timeMs of [...instants].toSorted((one, other) => other - one)) {
    // The first value of each node counts.
    const bySigner = new Map<string, number>()
    for (const one of signed)
      if (one.timeMs === timeMs && !bySigner.has(one.signer)) bySigner.set(one.signer, one.value)
    if (bySigner.size < SIGNERS_MIN) continue
    const { median, deviation } = medianAndDeviation([...bySigner.values()])
    if (deviation > DEVIATION_MAX * median) return null
    return {
      kind: 'oracle-price',
      network: 'redstone',
      place: '',
      asset,
      priceUsd: median,
      confidenceUsd: Math.max(deviation, CONFIDENCE_MIN * median),
      ema: null,
      resolutionBps: PEGGED.has(asset) ? PEGGED_RESOLUTION_BPS : RESOLUTION_BPS,
      heartbeatMs: HEARTBEAT_MS,
      timeExchangeMs: timeMs,
      timeReceivedMs: nowMs,
    }
  }
  return null
}

/** The value of a package that holds exactly this feed; empty for any other package. */
function signedBy(one: unknown, asset: string, nowMs: number): readonly Signed[] {
  const points = untrustedList(ownMember(one, 'dataPoints'), 2)
  const timeMs = ownMember(one, 'timestampMilliseconds')
  const [point] = points
  const value = decimal(ownMember(point, 'value'))
  const signer = signerOf(one)
  const isOfFeed =
    points.length === 1 &&
    ownMember(point, 'dataFeedId') === asset &&
    (ownMember(one, 'dataPackageId') ?? asset) === asset
  if (!isOfFeed || signer === null || ownMember(one, 'isSignatureValid') === false) return []
  return isPlausiblePrice(value) && isPlausibleTime(timeMs, nowMs)
    ? [{ signer, timeMs, value }]
    : []
}

/** A node signs an instant once, so without `signerAddress` different signatures mean different nodes. */
function signerOf(one: unknown): string | null {
  const address = ownMember(one, 'signerAddress')
  if (typeof address === 'string' && /^0x[0-9a-f]{40}$/i.test(address)) return address.toLowerCase()
  const signature = ownMember(one, 'signature')
  return address === undefined && typeof signature === 'string' && signature.length > 0
    ? signature
    : null
}

/** Prices are numbers, or strings where a number would lose digits. */
function decimal(value: unknown): unknown {
  const isText = typeof value === 'string' && /^\d{1,20}(\.\d{1,30})?$/.test(value)
  return isText ? Number(value) : value
}
