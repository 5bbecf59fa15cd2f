import { createKeyPairSignerFromBytes } from '@solana/kit'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm'
import { ExactSvmScheme } from '@x402/svm'
import { privateKeyToAccount } from 'viem/accounts'

export type BuyerKeys = {
  readonly walletKey?: `0x${string}` | undefined
  readonly solanaKey?: Uint8Array | undefined
  readonly solanaRpcUrl?: string | undefined
}

/** Signs by the keys that are given, and by none where there is none. */
export async function buyerWallet({
  walletKey,
  solanaKey,
  solanaRpcUrl,
}: BuyerKeys): Promise<x402Client> {
  const wallet = new x402Client()
  if (walletKey !== undefined)
    wallet.register('eip155:*', new ExactEvmScheme(privateKeyToAccount(walletKey)))
  if (solanaKey !== undefined) {
    const signer = await createKeyPairSignerFromBytes(solanaKey)
    const rpc = solanaRpcUrl === undefined ? {} : { rpcUrl: solanaRpcUrl }
    wallet.register('solana:*', new ExactSvmScheme(signer, rpc))
  }
  return wallet
}
