import type { OraclePriceEvent } from '../../../domain/external.ts'
import { foreignList, ownMember, parseForeign } from '../foreign-json.ts'
import type { Decoded, Finding } from '../polled-source.ts'
import { isSanePrice, isSaneTime } from '../sane.ts'

/** All feeds of the service with five signers each have about 2 MB. */
const BODY_CHARS_MAX = 12 * 1024 * 1024
/** Five nodes sign the service. */
const PACKAGES_MAX = 64
/** What one node alone says is nobody's consensus. */
const SIGNERS_MIN = 2
/** Beyond such a confidence, as a share of the price, the nodes do not speak of the same thing. */
const DEVIATION_MAX = 0.1

/**
 * Most nodes usually sign one and the same value, because they run the same program on the same exchanges:
 * that they agree does not make it better than what those exchanges differ by.
 */
const CONFIDENCE_MIN = 1e-4

/** Nodes sign every 10 s whatever the price does, and are asked as often. */
const HEARTBEAT_MS = 30_000
/**
 * There is no trigger that holds a price back; what is unknown is the move until the next package is
 * read, some 20 s: 0.6 sqrt(20 s / 1 year) is 5 bps for an asset that moves 60 % a year, and far below
 * 1 bps for a dollar.
 */
const RESOLUTION_BPS = 5
const PEGGED_RESOLUTION_BPS = 1
const PEGGED: ReadonlySet<string> = new Set(['USDC', 'USDT'])

type Signed = { readonly signer: string; readonly timeMs: number; readonly value: number }

/**
 * `{<feed>: [{timestampMilliseconds, signature, signerAddress, dataPackageId, dataPoints}]}` of the
 * gateway. Of each asset the newest instant that at least two nodes signed counts: its price is the median
 * over the nodes and its confidence their mean absolute deviation from it. Both together are the maximum
 * likelihood of a Laplace distribution, whose scale is also what Pyth calls confidence. It says how far
 * the nodes disagree, not how sure each of them is, so it is never told as less than 1 bps.
 *
 * Signatures are not verified: the gateway is believed as far as its TLS certificate goes, and no further
 * than two other networks confirm it.
 */
export function decodePackages(body: string, nowMs: number, assets: readonly string[]): Decoded {
  const reply = parseForeign(body, BODY_CHARS_MAX)
  const findings: Finding[] = []
  const events: OraclePriceEvent[] = []
  for (const asset of assets) {
    const packages = ownMember(reply, asset)
    if (packages === undefined) continue
    const signed = foreignList(packages, PACKAGES_MAX).flatMap((one) => signedBy(one, asset, nowMs))
    const event = consensus(asset, signed, nowMs)
    if (event === null)
      findings.push({ kind: 'price_refused', detail: `${asset}: no two nodes agree` })
    else events.push(event)
  }
  if (events.length === 0) findings.push({ kind: 'undecodable', detail: body.slice(0, 200) })
  return { events, findings }
}

/** At least two; of an even number the mean of the middle two. @returns both 0 for no values */
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
    // The first word of a node counts.
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

/** What one package says about the feed under whose name it stands, if it says just that. */
function signedBy(one: unknown, asset: string, nowMs: number): readonly Signed[] {
  const points = foreignList(ownMember(one, 'dataPoints'), 2)
  const timeMs = ownMember(one, 'timestampMilliseconds')
  const [point] = points
  const value = decimal(ownMember(point, 'value'))
  const signer = signerOf(one)
  const isOfFeed =
    points.length === 1 &&
    ownMember(point, 'dataFeedId') === asset &&
    (ownMember(one, 'dataPackageId') ?? asset) === asset
  if (!isOfFeed || signer === null || ownMember(one, 'isSignatureValid') === false) return []
  return isSanePrice(value) && isSaneTime(timeMs, nowMs) ? [{ signer, timeMs, value }] : []
}

/**
 * A node signs one instant of a feed once, so where the gateway does not name the signers, different
 * signatures are of different nodes.
 */
function signerOf(one: unknown): string | null {
  const address = ownMember(one, 'signerAddress')
  if (typeof address === 'string' && /^0x[0-9a-f]{40}$/i.test(address)) return address.toLowerCase()
  const signature = ownMember(one, 'signature')
  return address === undefined && typeof signature === 'string' && signature.length > 0
    ? signature
    : null
}

/** Prices come as numbers, and as strings where a number would not hold them. */
function decimal(value: unknown): unknown {
  const isText = typeof value === 'string' && /^\d{1,20}(\.\d{1,30})?$/.test(value)
  return isText ? Number(value) : value
}
