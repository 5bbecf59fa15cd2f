import { readFileSync } from 'node:fs'
import { OperatingError } from '../../domain/errors.ts'
import type { Chain, OracleNetwork, SourceId } from '../../domain/external.ts'
import { chains, oracleNetworks, sourceIds } from '../../domain/external.ts'

/** The second instant is exclusive. */
type Period = { readonly fromMs: number; readonly untilMs: number }

/** A scheduled event of the simulation. */
export type ScenarioEvent = Period &
  (
    | { readonly kind: 'depeg'; readonly asset: (typeof stables)[number]; readonly bps: number }
    /** The venue's oracle is this far above the reference price. */
    | { readonly kind: 'basis'; readonly asset: string; readonly bps: number }
    /** On one chain an asset trades this far above the reference price, as a log difference. */
    | {
        readonly kind: 'gap'
        readonly chain: Chain
        readonly asset: string
        readonly bps: number
      }
    /** One source publishes wrong prices, of one asset or of all. */
    | {
        readonly kind: 'offset'
        readonly source: SourceId
        readonly asset?: string
        readonly bps: number
      }
    /** One source repeats the prices of the start of the event. */
    | { readonly kind: 'frozen'; readonly source: SourceId }
    /** One source sends nothing and keeps its connections; a chain has no new blocks. */
    | { readonly kind: 'stalled'; readonly source: SourceId }
    /**
     * One source keeps its connections, answers and sends heartbeats, but has no prices after the start of the event.
     * Kraken also reports maintenance, and Bybit repeats its last quotes.
     */
    | { readonly kind: 'halted'; readonly source: SourceId }
    /** One source refuses connections and requests. */
    | { readonly kind: 'dead'; readonly source: SourceId }
    | { readonly kind: 'confidence'; readonly network: OracleNetwork; readonly factor: number }
    /** Spreads and gas prices are multiplied. */
    | { readonly kind: 'crash'; readonly factor: number }
  )

export function isActive({ fromMs, untilMs }: Period, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs
}

const SECOND_MS = 1_000
const stables = ['USDC', 'USDT'] as const
const kinds: readonly ScenarioEvent['kind'][] = [
  'depeg',
  'basis',
  'gap',
  'offset',
  'frozen',
  'stalled',
  'halted',
  'dead',
  'confidence',
  'crash',
]

/**
 * Reads a scenario from a JSON file: a list of events with `from_seconds` and `until_seconds` after the
 * start.
 * @throws OperatingError that names the invalid entry
 */
export function readScenario(path: string, startMs: number): readonly ScenarioEvent[] {
  const list = parsed(path)
  if (!Array.isArray(list)) throw new OperatingError('bad_world', `${path}: not a list`)
  return list.map((entry: unknown, at) => {
    const problem = problemOf(entry)
    if (problem !== null)
      throw new OperatingError('bad_world', `${path}: entry ${at + 1}: ${problem}`)
    const { from_seconds, until_seconds, ...what } = entry as Record<string, unknown>
    return {
      ...what,
      fromMs: startMs + Number(from_seconds) * SECOND_MS,
      untilMs: startMs + Number(until_seconds) * SECOND_MS,
    } as unknown as ScenarioEvent
  })
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    const what = cause instanceof SyntaxError ? `is not JSON: ${cause.message}` : 'cannot be read'
    throw new OperatingError('bad_world', `${path} ${what}`, { cause })
  }
}

function problemOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null) return 'not an object'
  const { kind, from_seconds, until_seconds, source, chain, network, asset, bps, factor } =
    entry as Record<string, unknown>
  if (!kinds.includes(kind as ScenarioEvent['kind'])) return `kind is one of ${kinds.join(', ')}`
  if (!(Number(from_seconds) < Number(until_seconds))) return 'from_seconds is below until_seconds'
  const isNamed = (name: unknown, names: readonly string[]) =>
    typeof name === 'string' && names.includes(name)
  switch (kind) {
    case 'depeg':
    case 'basis':
    case 'gap':
      if (typeof bps !== 'number') return 'bps is a number'
      if (kind === 'depeg' && !isNamed(asset, stables)) return `asset is one of ${stables.join()}`
      if (typeof asset !== 'string') return 'asset is a ticker'
      return kind !== 'gap' || isNamed(chain, chains) ? null : `chain is one of ${chains.join()}`
    case 'confidence':
      if (!isNamed(network, oracleNetworks)) return `network is one of ${oracleNetworks.join()}`
      return typeof factor === 'number' ? null : 'factor is a number'
    case 'crash':
      return typeof factor === 'number' ? null : 'factor is a number'
    default:
      if (!isNamed(source, sourceIds)) return `source is one of ${sourceIds.join()}`
      return kind === 'offset' && typeof bps !== 'number' ? 'bps is a number' : null
  }
}
