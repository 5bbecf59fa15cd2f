/**
 * Buys a pulse with nothing but `fetch` and the SDK that signs.
 *
 *     PERPSCOPE_URL=https://… WALLET_KEY=0x… npx tsx examples/plain-fetch.ts BTC
 */
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm'
import { privateKeyToAccount } from 'viem/accounts'

const { PERPSCOPE_URL: service, WALLET_KEY: key } = process.env
if (!service || !key) {
  console.error('Set PERPSCOPE_URL, such as http://127.0.0.1:8402, and WALLET_KEY, the 0x key of a wallet with USDC on Base.')
  process.exit(2)
}
const url = `${service}/pulse/${process.argv[2] ?? 'BTC'}`
const account = privateKeyToAccount(key as `0x${string}`)
const wallet = new x402HTTPClient(
  new x402Client().register('eip155:8453', new ExactEvmScheme(account)),
)

const unpaid = await fetch(url)
if (unpaid.status !== 402) throw new Error(`${unpaid.status}: ${await unpaid.text()}`)
const quote = wallet.getPaymentRequiredResponse((name) => unpaid.headers.get(name))
const payment = await wallet.createPaymentPayload(quote)
const paid = await fetch(url, { headers: wallet.encodePaymentSignatureHeader(payment) })
if (paid.status !== 200) throw new Error(`${paid.status}: ${await paid.text()}`)

const { coin, confluence } = (await paid.json()) as {
  coin: string
  confluence: { bias: string; score: number }
}
const { transaction } = wallet.getPaymentSettleResponse((name) => paid.headers.get(name))
console.log(`${coin}: ${confluence.bias}, score ${confluence.score}, paid in ${transaction}`)
