import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { x402Client } from '@x402/core/client'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { newBuyer } from '../../src/payment/testing/buyer.ts'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { fromElsewhere } from './service.ts'

const FUNDS = 1_000_000n

type Tool = { readonly name: string }
export type Result = {
  readonly isError?: boolean
  readonly content?: readonly { readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}
/** Common interface of both client versions. */
export type Caller = {
  list(): Promise<readonly Tool[]>
  call(name: string, args: Record<string, unknown>, meta?: Record<string, unknown>): Promise<Result>
  close(): Promise<void>
}

export const info = { name: 'test', version: '1.0.0' }

/** Clients of an `/mcp`, each from an address of its own. */
export const generations = {
  'of today': async (url: string): Promise<Caller> => {
    const client = new NewClient(info)
    const options = { fetch: fromElsewhere() }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), options))
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args, meta) =>
        (await client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) })) as Result,
      close: () => client.close(),
    }
  },
  'of the generation before': async (url: string): Promise<Caller> => {
    const client = new OldClient(info)
    const options = { fetch: fromElsewhere() }
    await client.connect(new OldTransport(new URL(`${url}/mcp`), options) as never)
    return {
      list: async () => (await client.listTools()).tools,
      call: async (name, args, meta) =>
        (await client.callTool({ name, arguments: args, ...(meta && { _meta: meta }) })) as Result,
      close: () => client.close(),
    }
  },
}

export const textOf = (result: Result) => result.content?.[0]?.text ?? ''

/** A wallet with a USDC, which signs as MCP clients do. */
export async function walletOn(chain: EvmChain) {
  const account = newBuyer()
  await chain.fundUsdc(account.address, FUNDS)
  const payer = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
  return {
    pay: (quote: unknown) => payer.createPaymentPayload(quote as PaymentRequired),
    spent: async () => FUNDS - (await chain.balanceOf(account.address)),
  }
}
