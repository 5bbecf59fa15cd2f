/**
 * Buys an analysis with USDC on Solana. The key is the 64 bytes of a Solana wallet file.
 *
 *     PERPSCOPE_URL=https://… SOLANA_KEY='[1,2,…]' SOLANA_RPC_URL=https://… npx tsx examples/wallet-on-solana.ts BTC
 */
import { createKeyPairSignerFromBytes } from '@solana/kit'
import { x402Client } from '@x402/core/client'
import { ExactSvmScheme } from '@x402/svm'
import { PerpscopeClient } from 'perpscope/client'

const bytes = Uint8Array.from(JSON.parse(process.env['SOLANA_KEY'] ?? '[]') as number[])
const signer = await createKeyPairSignerFromBytes(bytes)
const rpcUrl = process.env['SOLANA_RPC_URL']
const scheme = new ExactSvmScheme(signer, rpcUrl === undefined ? {} : { rpcUrl })
const wallet = new x402Client().register('solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', scheme)

const client = new PerpscopeClient({
  url: process.env['PERPSCOPE_URL'] ?? '',
  pay: (quote) => wallet.createPaymentPayload(quote),
})
const { answer, receipt } = await client.about('spread', process.argv[2] ?? 'BTC')
console.log(`${answer.coin}: ${answer.spread.bid_ask_bps} bps between bid and ask`)
console.log(`${client.spentUsd} USDC on ${receipt?.network}`)
