/** A transfer costs about 85,000; a contract wallet may need more to check its signature. */
export const KEY_GAS_MAX = 200_000n
export const CONTRACT_GAS_MAX = 300_000n

/**
 * What failed transactions of contract wallets may burn unless an operator says otherwise. Ten settlements at
 * their limit: at 0.01 gwei and 4,000 USD for an ether 0.12 USD an hour, and room for ten at once.
 */
export const CONTRACT_GAS_PER_HOUR = 10n * CONTRACT_GAS_MAX
