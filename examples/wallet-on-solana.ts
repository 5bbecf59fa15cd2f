/**
 * Buys an analysis with USDC on Solana. The key is the 64 bytes of a Solana wallet file.
 *
 *     PERPSCOPE_URL=https://… SOLANA_KEY='[1,2,…]' SOLANA_RPC_URL=https://… npx tsx examples/wallet-on-solana.ts BTC
 */
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { x402Client } from '@x402/core/client'
import { ExactSvmScheme } from '@x402/svm'
import { PerpscopeClient } from 'perpscope/client'

const { PERPSCOPE_URL: url, SOLANA_KEY: key, SOLANA_RPC_URL: rpcUrl } = process.env
if (!url || !key) {
  console.error('Set PERPSCOPE_URL, such as http://127.0.0.1:8402, SOLANA_KEY, the 64 numbers of a wallet file with USDC, and, for another node than the public one, SOLANA_RPC_URL.')
  process.exit(2)
}
const bytes = Uint8Array.from(JSON.parse(key) as number[])
const signer = await createKeyPairSignerFromBytes(bytes)
const scheme = new ExactSvmScheme(signer, rpcUrl === undefined ? {} : { rpcUrl })
const wallet = new x402Client().register('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', scheme)

const client = new PerpscopeClient({
  url,
  pay: (quote) => wallet.createPaymentPayload(quote),
})
const { answer, receipt } = await client.about('spread', process.argv[2] ?? 'BTC')
console.log(`${answer.coin}: ${answer.spread.bid_ask_bps} bps between bid and ask`)
console.log(`${client.spentUsd} USDC on ${receipt?.network}`)
