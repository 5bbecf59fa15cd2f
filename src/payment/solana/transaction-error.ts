export const INSUFFICIENT = 'invalid_exact_svm_insufficient_funds'

const TRANSFER_AT = 2
/** Token program error: https://docs.rs/spl-token/latest/spl_token/error/enum.TokenError.html. */
const INSUFFICIENT_FUNDS = 1
/** Errors of the token program for a missing source account. */
const NO_ACCOUNT =
  /^(InvalidAccountData|UninitializedAccount|IncorrectProgramId|InvalidAccountOwner)$/

/** Caused by the fee payer or the cluster; the buyer cannot correct it. */
const OURS =
  /^(AccountNotFound|InsufficientFundsForFee|InvalidAccountForFee|ClusterMaintenance|AccountInUse|WouldExceed\w+|ProgramCacheHitMaxLimit|CommitCancelled)$/

export type Failure =
  /** The payment is invalid. */
  | { readonly fault: 'payment'; readonly reason: string }
  /** The buyer is not at fault. */
  | { readonly fault: 'ours'; readonly reason: string }

/** Classifies an error of the chain by who is at fault. */
export function failureOf(err: unknown): Failure {
  if (err === 'BlockhashNotFound')
    return { fault: 'payment', reason: 'invalid_exact_svm_payment_expired' }
  if (err === 'AlreadyProcessed') return { fault: 'payment', reason: 'duplicate_settlement' }
  const [index, inner] = instructionError(err)
  if (index === TRANSFER_AT && lacksFunds(inner)) return { fault: 'payment', reason: INSUFFICIENT }
  return isOurs(err)
    ? { fault: 'ours', reason: `the transaction would fail: ${JSON.stringify(err)}` }
    : { fault: 'payment', reason: 'invalid_exact_svm_transaction_simulation_failed' }
}

function isOurs(err: unknown): boolean {
  if (typeof err === 'string') return OURS.test(err)
  return JSON.stringify(err) === '{"InsufficientFundsForRent":{"account_index":0}}'
}

function instructionError(err: unknown): readonly [number | null, unknown] {
  if (typeof err !== 'object' || err === null || !('InstructionError' in err)) return [null, null]
  const { InstructionError: pair } = err
  return Array.isArray(pair) && typeof pair[0] === 'number' ? [pair[0], pair[1]] : [null, null]
}

function lacksFunds(inner: unknown): boolean {
  if (typeof inner === 'string') return NO_ACCOUNT.test(inner)
  return (
    typeof inner === 'object' &&
    inner !== null &&
    'Custom' in inner &&
    inner.Custom === INSUFFICIENT_FUNDS
  )
}
