import type { SolanaAccount } from './account.ts'

/** The clock sysvar: in the same request as other accounts it gives the time of their block. */
export const CLOCK_ACCOUNT = 'SysvarC1ock11111111111111111111111111111111'

const SYSVAR_OWNER = 'Sysvar1111111111111111111111111111111111111'
const CLOCK_BYTES = 40
const UNIX_TIMESTAMP_AT = 32

/** @returns the block time in ms, whole seconds; null for an account that is not the clock */
export function readChainClockMs(account: SolanaAccount | null): number | null {
  if (account === null || account.owner !== SYSVAR_OWNER) return null
  if (account.data.length !== CLOCK_BYTES) return null
  const seconds = Number(account.data.readBigInt64LE(UNIX_TIMESTAMP_AT))
  return seconds > 0 && Number.isSafeInteger(seconds * 1_000) ? seconds * 1_000 : null
}
