import type { Payer, PaymentRequirements } from '../../client/client.ts'
import { authorizationOf, chainIdOf, typedDataOf } from './authorization.ts'
import { networkOf } from './networks.ts'
import type { WalletProvider } from './wallet-provider.ts'
import { isDeclined, isUnknownChain } from './wallet-provider.ts'

/** Why a wallet signed nothing; so nothing was sent and nothing can be charged. */
class UnsignedError extends Error {
  override readonly name = 'UnsignedError'
  readonly reason: 'declined' | 'wrong-network' | 'terms-changed' | 'failed'

  constructor(reason: UnsignedError['reason'], message: string) {
    super(message)
    this.reason = reason
  }
}

/** What the wallet is asked for. */
export type SigningStep = 'account' | 'network' | 'signature'

export type SigningOptions = {
  readonly provider: WalletProvider
  /** The terms that the buyer has seen. */
  readonly agreed: PaymentRequirements
  readonly nowMs: () => number
  /** 32 random bytes. */
  readonly newNonce: () => `0x${string}`
  readonly onStep: (step: SigningStep) => void
}

/** The terms that a wallet of a browser can pay: `exact` on an EVM chain. null if there are none. */
export function walletTerms(accepts: readonly PaymentRequirements[]): PaymentRequirements | null {
  const isPayable = ({ scheme, network, extra }: PaymentRequirements) =>
    scheme === 'exact' &&
    networkOf(network)?.chain !== undefined &&
    (extra['assetTransferMethod'] ?? 'eip3009') === 'eip3009'
  return accepts.find(isPayable) ?? null
}

/** Signs the agreed terms with a wallet, and no others. @throws UnsignedError */
export function walletPayer(options: SigningOptions): Payer {
  const { provider, agreed, nowMs, newNonce, onStep } = options
  return async (quote) => {
    const terms = quote.accepts.find((one) => isSame(one, agreed))
    if (terms === undefined)
      throw new UnsignedError(
        'terms-changed',
        'The service has changed its terms since they were shown. Nothing was signed or charged.',
      )
    onStep('account')
    const [account] = (await asked(provider, 'eth_requestAccounts', [])) as string[]
    if (account === undefined) throw unsigned('The wallet has no account for this page.')
    onStep('network')
    await onChain(provider, terms.network)
    onStep('signature')
    const authorization = authorizationOf(terms, account, { nowMs: nowMs(), nonce: newNonce() })
    const typed = JSON.stringify(typedDataOf(terms, authorization))
    const signature = await asked(provider, 'eth_signTypedData_v4', [account, typed])
    return {
      x402Version: 2,
      resource: quote.resource,
      accepted: terms,
      payload: { signature, authorization },
      ...(quote.extensions && { extensions: quote.extensions }),
    }
  }
}

/** Makes the wallet's network that of the terms, because wallets sign for their own chain only. */
async function onChain(provider: WalletProvider, network: string): Promise<void> {
  const wanted = chainIdOf(network)
  if (Number(await asked(provider, 'eth_chainId', [])) === wanted) return
  const chain = networkOf(network)?.chain
  const switched = () =>
    provider.request({
      method: 'wallet_switchEthereumChain',
      params: [{ chainId: chain?.chainId }],
    })
  try {
    await switched().catch(async (cause) => {
      if (!isUnknownChain(cause)) throw cause
      await provider.request({ method: 'wallet_addEthereumChain', params: [chain] })
      await switched()
    })
    if (Number(await provider.request({ method: 'eth_chainId' })) === wanted) return
  } catch {
    // Reported below.
  }
  throw new UnsignedError(
    'wrong-network',
    `The wallet stays on another network. Switch it to ${chain?.chainName} and pay again. ` +
      'Nothing was signed or charged.',
  )
}

async function asked(
  provider: WalletProvider,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  try {
    return await provider.request({ method, params })
  } catch (cause) {
    if (isDeclined(cause))
      throw new UnsignedError(
        'declined',
        'You declined the request in the wallet. Nothing was signed or charged.',
      )
    const { message } = cause as { readonly message?: string }
    throw unsigned(`The wallet reports: ${message ?? 'an error without a text'}.`)
  }
}

function unsigned(what: string): UnsignedError {
  return new UnsignedError('failed', `${what} Nothing was signed or charged.`)
}

function isSame(one: PaymentRequirements, other: PaymentRequirements): boolean {
  return (
    one.scheme === other.scheme &&
    one.network === other.network &&
    one.asset === other.asset &&
    one.amount === other.amount &&
    one.payTo === other.payTo &&
    one.maxTimeoutSeconds === other.maxTimeoutSeconds
  )
}
