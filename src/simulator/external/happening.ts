import { readFileSync } from 'node:fs'
import { OperatingError } from '../../domain/errors.ts'
import type { Chain, OracleNetwork, SourceId } from '../../domain/external.ts'
import { chains, oracleNetworks, sourceIds } from '../../domain/external.ts'

/** Something that is true of the simulated world between two instants, the second exclusive. */
type During = { readonly fromMs: number; readonly untilMs: number }

export type Happening = During &
  (
    | { readonly kind: 'depeg'; readonly asset: (typeof stables)[number]; readonly bps: number }
    /** The venue's oracle stands this far above what the asset is worth. */
    | { readonly kind: 'basis'; readonly asset: string; readonly bps: number }
    /** On one chain an asset trades this far above everywhere else, as a log difference. */
    | {
        readonly kind: 'gap'
        readonly chain: Chain
        readonly asset: string
        readonly bps: number
      }
    /** One source lies, about one asset or about all. */
    | {
        readonly kind: 'offset'
        readonly source: SourceId
        readonly asset?: string
        readonly bps: number
      }
    /** One source goes on, and says what it said when this began. */
    | { readonly kind: 'frozen'; readonly source: SourceId }
    /** One source falls silent without closing anything; a chain makes no more blocks. */
    | { readonly kind: 'stalled'; readonly source: SourceId }
    /** One source is not there at all. */
    | { readonly kind: 'dead'; readonly source: SourceId }
    | { readonly kind: 'confidence'; readonly network: OracleNetwork; readonly factor: number }
    /** Spreads and gas are so many times as wide. */
    | { readonly kind: 'crash'; readonly factor: number }
  )

export function isDuring({ fromMs, untilMs }: During, atMs: number): boolean {
  return fromMs <= atMs && atMs < untilMs
}

const SECOND_MS = 1_000
const stables = ['USDC', 'USDT'] as const
const kinds: readonly Happening['kind'][] = [
  'depeg',
  'basis',
  'gap',
  'offset',
  'frozen',
  'stalled',
  'dead',
  'confidence',
  'crash',
]

/**
 * Reads what shall happen from a JSON file: a list of objects with the members of a happening, but with
 * `from_seconds` and `until_seconds` after the start instead of instants.
 * @throws OperatingError naming the entry that makes no sense
 */
export function readHappenings(path: string, startMs: number): readonly Happening[] {
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
    } as unknown as Happening
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
  if (!kinds.includes(kind as Happening['kind'])) return `kind is one of ${kinds.join(', ')}`
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
