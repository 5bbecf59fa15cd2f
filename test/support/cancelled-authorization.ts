import type { Hex } from 'viem'
import {
  createTestClient,
  http,
  parseAbi,
  parseSignature,
  publicActions,
  walletActions,
} from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { privateKeyToAccount } from 'viem/accounts'
import { base as baseChain } from 'viem/chains'
import { base } from '../../src/payment/evm/networks.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { minedReceipt } from './mined-receipt.ts'

const abi = parseAbi([
  'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
])

/**
 * Cancels an authorization; its payer may do so at any time, with gas paid by anyone.
 * @param tip priority fee in wei, to come before a transfer that waits for its block
 */
export async function cancelAuthorization(
  chain: EvmChain,
  buyer: PrivateKeyAccount,
  nonce: Hex,
  tip?: bigint,
): Promise<void> {
  const client = createTestClient({
    mode: 'anvil',
    chain: baseChain,
    transport: http(chain.rpcUrl),
    account: privateKeyToAccount(chain.accounts.buyer.privateKey),
  })
    .extend(publicActions)
    .extend(walletActions)
  const signature = await buyer.signTypedData({
    domain: { ...base.domain, chainId: base.chainId, verifyingContract: base.asset },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: buyer.address, nonce },
  })
  const { r, s, v = 0n } = parseSignature(signature)
  const { address } = client.account
  const hash = await client.writeContract({
    address: chain.usdc,
    abi,
    functionName: 'cancelAuthorization',
    args: [buyer.address, nonce, Number(v), r, s],
    // An estimate would find that the waiting transfer has used the nonce.
    ...(tip === undefined
      ? {}
      : {
          nonce: await client.getTransactionCount({ address, blockTag: 'pending' }),
          ...{ gas: 100_000n, maxPriorityFeePerGas: tip, maxFeePerGas: 2n * tip + 10_000_000_000n },
        }),
  })
  await minedReceipt(client, hash)
}
