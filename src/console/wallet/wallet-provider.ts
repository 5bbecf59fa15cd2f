/** A wallet in the browser by EIP-1193. */
export type WalletProvider = {
  request(call: { readonly method: string; readonly params?: readonly unknown[] }): Promise<unknown>
}

export type Wallet = {
  /** Unique in the page. */
  readonly id: string
  readonly name: string
  readonly provider: WalletProvider
}

/** Code of EIP-1193 for a request that the user has declined. */
const DECLINED = 4001
/** Code for a chain that the wallet does not know (EIP-3326). */
const UNKNOWN_CHAIN = 4902

export function isDeclined(cause: unknown): boolean {
  return codeOf(cause) === DECLINED
}

export function isUnknownChain(cause: unknown): boolean {
  return codeOf(cause) === UNKNOWN_CHAIN
}

function codeOf(cause: unknown): unknown {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
}
