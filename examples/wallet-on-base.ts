/**
 * Buys an analysis with USDC on Base.
 *
 *     PERPSCOPE_URL=https://… WALLET_KEY=0x… npx tsx examples/wallet-on-base.ts BTC
 */
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm'
import { PerpscopeClient } from 'perpscope/client'
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
  budget: { maxUsdPerCall: 0.1, totalUsd: 1 },
})
const { answer, receipt } = await client.about('funding', process.argv[2] ?? 'BTC')
console.log(`${answer.coin} pays ${answer.funding.annualized_pct} % a year for being long`)
console.log(`${client.spentUsd} USDC on ${receipt?.network}`)
