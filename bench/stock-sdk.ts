import { x402Facilitator } from '@x402/core/facilitator'
import { x402HTTPResourceServer } from '@x402/core/http'
import type { FacilitatorClient } from '@x402/core/server'
import { x402ResourceServer } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { registerExactEvmScheme as registerFacilitator } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import type { Address, Hex, PrivateKeyAccount } from 'viem'
import { createWalletClient, http, publicActions } from 'viem'
import { base as baseChain } from 'viem/chains'
import { verifyTypedData } from 'viem/utils'
import { base } from '../src/payment/evm/networks.ts'

/**
 * The peer of `bench/payment.ts`: a paid route by the x402 packages, with Fastify, the resource server of
 * `@x402/core` and the EVM mechanism of `@x402/evm` in one process.
 */
export type StockHostOptions = {
  readonly payTo: Address
  readonly path: string
  readonly priceUsdcAtomic: bigint
  readonly body: Buffer
  readonly facilitator: FacilitatorClient
}

export async function stockHost(options: StockHostOptions): Promise<FastifyInstance> {
  const { payTo, path, priceUsdcAtomic, body, facilitator } = options
  const { network, asset, domain } = base
  const server = new x402ResourceServer(facilitator).register(network, new ExactEvmScheme())
  const price = { amount: priceUsdcAtomic.toString(), asset, extra: domain }
  const sdk = new x402HTTPResourceServer(server, {
    [`GET ${path}`]: {
      accepts: { scheme: 'exact', network, payTo, price, maxTimeoutSeconds: 120 },
      description: 'pulse',
    },
  })
  await sdk.initialize()
  const app = Fastify()
  app.get(path, async (request, reply) => {
    const transport = contextOf(request)
    const outcome = await sdk.processHTTPRequest(transport)
    if (outcome.type === 'payment-error') {
      const { status, headers, body: refusal } = outcome.response
      return reply.code(status).headers(headers).send(refusal)
    }
    if (outcome.type === 'payment-verified') {
      const { paymentPayload, paymentRequirements } = outcome
      const settled = await sdk.processSettlement(paymentPayload, paymentRequirements)
      reply.headers(settled.headers)
      if (!settled.success) return reply.code(402).send({})
    }
    return reply.type('application/json; charset=utf-8').send(body)
  })
  return app
}

function contextOf(request: FastifyRequest) {
  const { method, url, headers } = request
  const [path = ''] = url.split('?')
  const header = (name: string) => {
    const value = headers[name.toLowerCase()]
    return typeof value === 'string' ? value : undefined
  }
  const adapter = {
    getHeader: header,
    getMethod: () => method,
    getPath: () => path,
    getUrl: () => `http://${headers.host}${url}`,
    getAcceptHeader: () => header('accept') ?? '',
    getUserAgent: () => header('user-agent') ?? '',
  }
  const paymentHeader = header('payment-signature')
  return { adapter, path, method, ...(paymentHeader === undefined ? {} : { paymentHeader }) }
}

/** The SDK's facilitator over a node, with viem's own defaults. */
export function stockFacilitator(rpcUrl: string, account: PrivateKeyAccount): FacilitatorClient {
  const wallet = createWalletClient({
    account,
    chain: baseChain,
    transport: http(rpcUrl),
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (args) => wallet.getCode(args),
    readContract: (args) => wallet.readContract(args as Parameters<typeof wallet.readContract>[0]),
    verifyTypedData: (args) =>
      wallet.verifyTypedData(args as Parameters<typeof wallet.verifyTypedData>[0]),
    writeContract: (args) =>
      wallet.writeContract(args as unknown as Parameters<typeof wallet.writeContract>[0]),
    sendTransaction: (args) => wallet.sendTransaction(args),
    waitForTransactionReceipt: (args) => wallet.waitForTransactionReceipt(args),
  })
  return clientOf(signer)
}

/** The SDK's facilitator with a stubbed node that accepts everything immediately. */
export function stubbedStockFacilitator(account: PrivateKeyAccount): FacilitatorClient {
  const never = () => Promise.reject(new Error('settlement is stubbed'))
  const signer = toFacilitatorEvmSigner({
    address: account.address,
    getCode: async ({ address }: { readonly address: Hex }) =>
      address.toLowerCase() === base.asset.toLowerCase() ? '0x60' : undefined,
    readContract: async () => undefined,
    verifyTypedData: (args) => verifyTypedData(args as Parameters<typeof verifyTypedData>[0]),
    writeContract: never,
    sendTransaction: never,
    waitForTransactionReceipt: never,
  })
  const client = clientOf(signer)
  return {
    getSupported: () => client.getSupported(),
    verify: (payload, requirements) => client.verify(payload, requirements),
    settle: async (_payload, { network }) => ({
      success: true,
      transaction: `0x${'ab'.repeat(32)}`,
      network,
    }),
  }
}

function clientOf(signer: ReturnType<typeof toFacilitatorEvmSigner>): FacilitatorClient {
  const { network: networks } = base
  const facilitator = registerFacilitator(new x402Facilitator(), { signer, networks })
  return {
    verify: (payload, requirements) => facilitator.verify(payload, requirements),
    settle: (payload, requirements) => facilitator.settle(payload, requirements),
    getSupported: async () =>
      facilitator.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  }
}
