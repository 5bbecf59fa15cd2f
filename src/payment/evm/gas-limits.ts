/** A transfer costs about 85,000; a contract wallet can need more for its signature. */
export const KEY_GAS_MAX = 200_000n
export const CONTRACT_GAS_MAX = 300_000n

/**
 * Default limit of gas that failed transactions of contract wallets may burn: ten settlements, 0.12 USD at 0.01 gwei
 * and 4,000 USD per ether.
 */
export const CONTRACT_GAS_PER_HOUR = 10n * CONTRACT_GAS_MAX
