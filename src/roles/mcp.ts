import { setTimeout as wait } from 'node:timers/promises'
import type { CallToolResult } from '@modelcontextprotocol/client'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { x402Client } from '@x402/core/client'
import type { PaymentRequired } from '@x402/core/types'
import { ExactEvmScheme } from '@x402/evm'
import { ExactSvmScheme } from '@x402/svm'
import { privateKeyToAccount } from 'viem/accounts'
import { Budget } from '../client/budget.ts'
import { UnpayableError } from '../client/errors.ts'
import { dearest, payable } from '../client/quote.ts'
import { ConfigError } from '../config/config-error.ts'
import { version } from '../config/environment.ts'
import type { McpOptions } from '../config/mcp.ts'

const PAYMENT = 'x402/payment'
/** The same payment is sent again so often while its outcome is open. */
const ATTEMPTS_MAX = 6
const RETRY_MS_MAX = 10_000

type Arguments = Readonly<Record<string, unknown>>

/**
 * `perpscope mcp`: the tools of a service for a desktop client that speaks over stdio, with a wallet that pays
 * what they cost, up to a budget. What is spent is told on standard error; standard output is the protocol's.
 */
export async function mcp(options: McpOptions, tell: (text: string) => void): Promise<void> {
  const wallet = await walletOf(options)
  const budget = new Budget({
    maxUsdPerCall: options.maxUsdPerCall,
    totalUsd: options.budgetUsd,
  })
  const service = new Client({ name: 'perpscope-mcp', version })
  await service.connect(new StreamableHTTPClientTransport(new URL(`${options.url}/mcp`)))
  tell(`perpscope mcp: ${options.url}, up to ${options.budgetUsd} USDC\n`)

  const call = (name: string, args: Arguments, meta?: Record<string, unknown>) =>
    service.callTool({
      name,
      arguments: args,
      ...(meta && { _meta: meta }),
    }) as Promise<CallToolResult>

  async function bought(name: string, args: Arguments): Promise<CallToolResult> {
    const quoted = await call(name, args)
    if (!isQuote(quoted.structuredContent)) return quoted
    const quote = payable(quoted.structuredContent)
    const amount = dearest(quote)
    budget.take(amount)
    let meta: Record<string, unknown>
    try {
      meta = { [PAYMENT]: await wallet.createPaymentPayload(quote) }
    } catch (cause) {
      budget.giveBack(amount)
      throw cause
    }
    const result = await paid(() => call(name, args, meta))
    if (isUncharged(result)) budget.giveBack(amount)
    tell(`perpscope mcp: ${name}, ${budget.spentUsd} USDC spent\n`)
    return result
  }

  const handle = serveStdio(() => {
    const server = new Server(
      { name: 'perpscope', version },
      { capabilities: { tools: {} }, instructions: service.getInstructions() ?? '' },
    )
    server.setRequestHandler('tools/list', () => service.listTools())
    server.setRequestHandler('tools/call', async ({ params }) => {
      try {
        return await bought(params.name, params.arguments ?? {})
      } catch (cause) {
        if (!(cause instanceof UnpayableError)) throw cause
        return { isError: true, content: [{ type: 'text', text: `Not bought: ${cause.message}.` }] }
      }
    })
    return server
  })
  process.stdin.once('end', () => void Promise.all([handle.close(), service.close()]))
}

/** Sends one payment until the service says what has become of it. Never another one. */
async function paid(send: () => Promise<CallToolResult>): Promise<CallToolResult> {
  for (let attempt = 1; ; attempt += 1) {
    const result = await send()
    const problem = problemIn(result)
    if (problem?.payment_reusable !== true || attempt === ATTEMPTS_MAX) return result
    await wait(Math.min((problem.retry_after ?? attempt) * 1_000, RETRY_MS_MAX))
  }
}

type Problem = {
  readonly payment_reusable?: boolean
  readonly retry_after?: number | null
  readonly charged?: boolean | null
}

function problemIn({ isError, content }: CallToolResult): Problem | null {
  const [first] = content
  if (isError !== true || first?.type !== 'text') return null
  try {
    return JSON.parse(first.text) as Problem
  } catch {
    return null
  }
}

/** A second quote means that the payment was refused; a problem says itself whether it was charged. */
function isUncharged(result: CallToolResult): boolean {
  return isQuote(result.structuredContent) || problemIn(result)?.charged === false
}

function isQuote(content: unknown): content is PaymentRequired {
  return typeof content === 'object' && content !== null && 'accepts' in content
}

async function walletOf({ walletKey, solanaKey, solanaRpcUrl }: McpOptions): Promise<x402Client> {
  if (walletKey === undefined && solanaKey === undefined)
    throw new ConfigError(
      'no wallet: set PERPSCOPE_WALLET_KEY (Base), PERPSCOPE_SOLANA_KEY (Solana) or both',
    )
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
