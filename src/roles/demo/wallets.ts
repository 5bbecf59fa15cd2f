import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm/exact/client'
import { ExactSvmSchemeV1 } from '@x402/svm/exact/v1/client'
import { privateKeyToAccount } from 'viem/accounts'
import { RefusedError } from '../../client/errors.ts'
import { readRefusal } from '../../client/refusal.ts'
import { sendUntilSettled } from '../../client/retry.ts'
import { parsedJson } from '../../domain/json.ts'
import type { EvmChain } from '../../simulator/evm/evm-chain.ts'
import type { SolanaChain } from '../../simulator/solana/solana-chain.ts'

/** Balances on one chain, in millionths of a USDC. */
export type Balances = { readonly buyer: bigint; readonly seller: bigint }

/** A buyer on one chain: the public client for x402 versions 1 and 2. */
export type DemoWallet = {
  readonly network: string
  readonly v1: typeof fetch
  readonly v2: typeof fetch
  balances(): Promise<Balances>
}

export function baseWallet(chain: EvmChain): DemoWallet {
  const { buyer, merchant } = chain.accounts
  const client = new x402Client()
  registerExactEvmScheme(client, { signer: privateKeyToAccount(buyer.privateKey) })
  return {
    ...payingBy(client),
    network: `eip155:${chain.chainId}`,
    balances: async () => ({
      buyer: await chain.balanceOf(buyer.address),
      seller: await chain.balanceOf(merchant.address),
    }),
  }
}

export async function solanaWallet(chain: SolanaChain): Promise<DemoWallet> {
  const { buyer, merchant } = chain.accounts
  const signer = await createKeyPairSignerFromPrivateKeyBytes(buyer.seed)
  const config = { rpcUrl: chain.rpcUrl }
  const client = new x402Client()
    .register('solana:*', new ExactSvmScheme(signer, config))
    .registerV1('solana', new ExactSvmSchemeV1(signer, config))
  return {
    ...payingBy(client),
    network: chain.network,
    balances: async () => ({
      buyer: chain.balanceOf(buyer.address),
      seller: chain.balanceOf(merchant.address),
    }),
  }
}

/** Without the v2 header the client falls back to the v1 body by itself. */
function payingBy(client: x402Client): Pick<DemoWallet, 'v1' | 'v2'> {
  const send = untilSettled(fetch)
  const withoutV2Header: typeof fetch = async (input, init) => {
    const response = await send(input, init)
    const headers = new Headers(response.headers)
    headers.delete('payment-required')
    return new Response(response.body, { status: response.status, headers })
  }
  return {
    v1: wrapFetchWithPayment(withoutV2Header, client),
    v2: wrapFetchWithPayment(send, client),
  }
}

/** Sends a request with a payment again until its outcome is known: another payment could pay twice. */
export function untilSettled(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { headers } = request
    if (!headers.has('payment-signature') && !headers.has('x-payment')) return send(request)
    try {
      return await sendUntilSettled(async () => {
        const response = await send(request.clone())
        if (response.status === 200 || response.status === 402) return response
        const body = await response.text()
        throw readRefusal(parsedJson(body)) ?? new TypeError(body)
      })
    } catch (cause) {
      if (!(cause instanceof RefusedError)) throw cause
      const { problem } = cause
      return Response.json(problem, { status: problem.status })
    }
  }
}
