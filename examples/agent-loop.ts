/**
 * An agent with pocket money: it looks for the strongest signal, asks for more about that coin, and stops
 * when its money is spent.
 *
 *     PERPSCOPE_URL=https://… WALLET_KEY=0x… BUDGET_USD=0.2 npx tsx examples/agent-loop.ts
 */
import { setTimeout as wait } from 'node:timers/promises'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm'
import { PerpscopeClient, RefusedError, UnpayableError } from 'perpscope/client'
import { privateKeyToAccount } from 'viem/accounts'

const { PERPSCOPE_URL: url, WALLET_KEY: key } = process.env
if (!url || !key) {
  console.error('Set PERPSCOPE_URL, such as http://127.0.0.1:8402, and WALLET_KEY, the 0x key of a wallet with USDC on Base.')
  process.exit(2)
}
const account = privateKeyToAccount(key as `0x${string}`)
const wallet = new x402Client().register('eip155:8453', new ExactEvmScheme(account))
const client = new PerpscopeClient({
  url,
  pay: (quote) => wallet.createPaymentPayload(quote),
  budget: { maxUsdPerCall: 0.1, totalUsd: Number(process.env['BUDGET_USD'] ?? 0.2) },
})

for (;;) {
  try {
    const { answer: screener } = await client.market('screener', { view: 'compact', top_n: 5 })
    const coin = screener.coins[0]?.coin
    if (coin === undefined) throw new Error('no coin was scanned')
    const { answer: pulse } = await client.about('pulse', coin, { timeframes: ['1h', '4h'] })
    const { bias, score } = pulse.confluence
    console.log(`${coin}: ${bias}, score ${score}, quality ${pulse.meta.quality.grade}`)
  } catch (cause) {
    if (cause instanceof UnpayableError) break
    // What cannot be answered now costs nothing: look again later.
    if (!(cause instanceof RefusedError && cause.problem.retryable)) throw cause
    console.log(`not now: ${cause.problem.detail}`)
  }
  await wait(1_000)
}
console.log(`spent ${client.spentUsd} USDC`)
