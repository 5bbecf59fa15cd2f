import { x402Facilitator } from '@x402/core/facilitator'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator'
import type { Hex } from 'viem'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { minedReceipt } from '../support/mined-receipt.ts'

/** The SDK's own facilitator for `exact` on Base, with a key that pays the gas on a local chain. */
export function exactEvmMechanism(rpcUrl: string, privateKey: Hex): x402Facilitator {
  const account = privateKeyToAccount(privateKey)
  const wallet = createWalletClient({
    account,
    chain: base,
    transport: http(rpcUrl),
  }).extend(publicActions)
  // One after the other: concurrent transactions of one account get the same nonce twice.
  let sent: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(send: () => Promise<T>): Promise<T> => {
    const turn = sent.then(send, send)
    sent = turn.catch(() => undefined)
    return turn
  }
  // The SDK types contracts as lists of anything, and viem as what a contract is.
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (args) => wallet.getCode(args),
    readContract: (args) => wallet.readContract(args as Parameters<typeof wallet.readContract>[0]),
    verifyTypedData: (args) =>
      wallet.verifyTypedData(args as Parameters<typeof wallet.verifyTypedData>[0]),
    writeContract: (args) =>
      inTurn(() =>
        wallet.writeContract(args as unknown as Parameters<typeof wallet.writeContract>[0]),
      ),
    sendTransaction: (args) => inTurn(() => wallet.sendTransaction(args)),
    waitForTransactionReceipt: ({ hash }) => minedReceipt(wallet, hash),
  })
  return registerExactEvmScheme(new x402Facilitator(), { signer, networks: 'eip155:8453' })
}
