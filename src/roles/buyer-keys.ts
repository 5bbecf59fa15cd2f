import { readFileSync } from 'node:fs'
import type { PaymentRequired, PaymentRequirements } from '@x402/core/types'
import { InvalidArgumentError } from 'commander'
import { UsageError } from '../config/usage.ts'
import { key as hexKey, keyBytes } from '../config/values.ts'
import { reasonOf } from '../domain/errors.ts'
import { usdcDecimal } from '../domain/usdc.ts'
import type { BuyerKeys } from './buyer-wallet.ts'

const STDIN = 0

const networks: Readonly<Record<string, string>> = {
  'eip155:8453': 'Base',
  'eip155:84532': 'Base Sepolia',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'Solana',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 'Solana devnet',
}

/** The key in a file; `-` is standard input. @throws UsageError if it contains no key */
export function keysIn(keyFile: string, solanaRpcUrl: string | undefined): BuyerKeys {
  const where = keyFile === '-' ? 'standard input' : keyFile
  let text: string
  try {
    text = readFileSync(keyFile === '-' ? STDIN : keyFile, 'utf8').trim()
  } catch (cause) {
    throw new UsageError(`--key-file: ${where} cannot be read: ${reasonOf(cause)}`)
  }
  try {
    return text.startsWith('[')
      ? { solanaKey: keyBytes(text), solanaRpcUrl }
      : { walletKey: hexKey(text) as `0x${string}` }
  } catch (cause) {
    if (!(cause instanceof InvalidArgumentError)) throw cause
    throw new UsageError(
      `--key-file: ${where} contains neither a 0x private key nor the 64 numbers of a Solana wallet file`,
    )
  }
}

/** The first payment requirement for which there is a key. @throws UsageError if there is none */
export function payableBy({ walletKey, solanaKey }: BuyerKeys, quote: PaymentRequired) {
  const hasKey = ({ network }: PaymentRequirements) =>
    (network.startsWith('eip155:') && walletKey !== undefined) ||
    (network.startsWith('solana:') && solanaKey !== undefined)
  const way = quote.accepts.find((one) => one.scheme === 'exact' && hasKey(one))
  if (way !== undefined) return way
  const ways = [...new Set(quote.accepts.map((one) => described(one)))].join(', or ')
  throw new UsageError(
    `the call costs ${ways}: give a key with --key-file, PERPSCOPE_WALLET_KEY (Base) or PERPSCOPE_SOLANA_KEY (Solana)`,
  )
}

/** Such as `0.05 USDC on Base`; null for a payment of an earlier call. */
export function described(way: PaymentRequirements | null): string {
  if (way === null) return 'before'
  return `${usdcDecimal(BigInt(way.amount))} USDC on ${networks[way.network] ?? way.network}`
}
