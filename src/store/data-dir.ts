import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OperatingError } from '../domain/errors.ts'

/**
 * Binds a data directory to the market that it is about, for good: what was learnt of one must never be told of
 * another, and nothing that is told would show it.
 * @returns whose it is, which may be another one's already
 */
export function claimDataDir(dataDir: string, market: string): string {
  const owner = marketIn(dataDir)
  if (owner !== null) return owner
  mkdirSync(dataDir, { recursive: true })
  const path = join(dataDir, 'market')
  writeFileSync(`${path}.new`, `${market}\n`, { flush: true })
  renameSync(`${path}.new`, path)
  return market
}

/** null where it is nobody's yet. */
export function marketIn(dataDir: string): string | null {
  try {
    const market = readFileSync(join(dataDir, 'market'), 'utf8').trim()
    return market === '' ? null : market
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw new OperatingError('data_dir_unreadable', `${dataDir} cannot be read`, { cause })
  }
}
