/** A wallet on one network. */
export type NetworkPayer = { readonly network: string; readonly payer: string }

export type FailedSettlement = NetworkPayer & {
  /** Hash of the code that checks the payer's signatures; null for a key. */
  readonly code: string | null
  /** Transaction hash; each counts once. */
  readonly transaction: string
  /** Our cost: gas on EVM chains, lamports on Solana. */
  readonly cost: bigint
  /** Weight against the payer: `BARRING_STRIKES` block it, 0 means that it is not at fault. */
  readonly strikes: number
}

/** A transaction of a contract wallet before it is sent, with the most that it can cost. */
export type ReservedCost = NetworkPayer & { readonly code: string; readonly cost: bigint }

/** A payer can run out of money by accident once or twice. */
export const BARRING_STRIKES = 3
export const BARRED_MS = 7 * 86_400_000
/** With this many blocked wallets the code itself is blocked. */
export const BARRED_WALLETS_OF_CODE = 3
/** Concurrent settlements of one wallet, as many as can block it; more if it has more paid purchases. */
export const AT_ONCE = 3
export const AT_ONCE_MAX = 50
/**
 * Window of the gas limit for contract wallets. A reservation without a release, because its gateway ended, counts
 * for this long.
 */
export const FAILURE_WINDOW_MS = 3_600_000

/**
 * Settlements that were simulated as valid and failed on chain at our cost. Stored with the ledger, so that they survive
 * a restart and hold for all gateways.
 */
export interface FailedSettlements {
  /**
   * Reserves the cost of a transaction before it is sent, unless the failures of the last hour and all reservations
   * would exceed `costMax` with it.
   * @returns the reservation, or null
   */
  reserve(wanted: ReservedCost, costMax: bigint, nowMs: number): Promise<number | null>
  /** The transaction was never sent, or it paid. */
  release(id: number): Promise<void>
  /**
   * @param reserved result of `reserve` for the same transaction, or null
   * @returns whether the failure is new
   */
  failed(failure: FailedSettlement, reserved: number | null, nowMs: number): Promise<boolean>
  isBarred(payer: NetworkPayer, nowMs: number): Promise<boolean>
  /** Whether wallets with this code are blocked. A wallet with a paid purchase is exempt. */
  isCodeBarred(payer: NetworkPayer, code: string, nowMs: number): Promise<boolean>
  /** Concurrent settlements that this wallet may have, from `AT_ONCE` to `AT_ONCE_MAX`. */
  atOnceMax(payer: NetworkPayer): Promise<number>
  /** Failed transactions of contract wallets within the last hour, newest first. */
  ofContracts(
    network: string,
    nowMs: number,
  ): Promise<readonly { readonly cost: bigint; readonly atMs: number }[]>
}
