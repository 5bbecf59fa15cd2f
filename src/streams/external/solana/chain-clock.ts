import type { Account } from './account.ts'

/**
 * The account in which the chain keeps its time, as every program reads it: one more key of the same request
 * tells when the block was made whose accounts the others are. `getBlockTime` gives the same instant.
 */
export const CLOCK_ACCOUNT = 'SysvarC1ock11111111111111111111111111111111'

const SYSVAR_OWNER = 'Sysvar1111111111111111111111111111111111111'
const CLOCK_BYTES = 40
const UNIX_TIMESTAMP_AT = 32

/** @returns the block's time in ms, whole seconds; null for what is no clock */
export function readChainClockMs(account: Account | null): number | null {
  if (account === null || account.owner !== SYSVAR_OWNER) return null
  if (account.data.length !== CLOCK_BYTES) return null
  const seconds = Number(account.data.readBigInt64LE(UNIX_TIMESTAMP_AT))
  return seconds > 0 && Number.isSafeInteger(seconds * 1_000) ? seconds * 1_000 : null
}
