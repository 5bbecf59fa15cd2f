import { UnpayableError } from './errors.ts'
import type { PaymentRequired, PaymentRequirements } from './x402.ts'

/** USDC by network. What a quote asks for in anything else is not signed: its amount would mean something else. */
const usdc: Readonly<Record<string, string>> = {
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
}

/** @throws UnpayableError when the service asks for a payment and does not say for which */
export function quoteOf(header: string | null): PaymentRequired {
  if (header === null) throw new UnpayableError('the quote has no PAYMENT-REQUIRED header')
  try {
    const quote = JSON.parse(atob(header)) as PaymentRequired
    if (quote.x402Version === 2 && Array.isArray(quote.accepts)) return quote
  } catch {
    // Told below.
  }
  throw new UnpayableError('the quote cannot be read')
}

/** Schemes whose payments this client can read, so that it knows what they are worth and how long. */
const schemes = ['exact', 'batch-settlement']

/**
 * The quote with only those ways to pay that are in real USDC and whose payments run out in time. @throws
 * UnpayableError when there is none
 */
export function payable(quote: PaymentRequired, timeoutSecondsMax: number): PaymentRequired {
  const known = quote.accepts.filter((one) => isUsdc(one) && isReadable(one))
  if (known.length === 0)
    throw new UnpayableError(
      'the quote names no USDC on a network that this client knows; nothing was signed',
    )
  const accepts = known.filter(({ maxTimeoutSeconds }) => maxTimeoutSeconds <= timeoutSecondsMax)
  if (accepts.length === 0)
    throw new UnpayableError(
      `the quote asks for a payment that could be charged for ${known[0]?.maxTimeoutSeconds} s, more than ` +
        `${timeoutSecondsMax}; nothing was signed. Allow it with maxTimeoutSeconds if the service needs it`,
    )
  return { ...quote, accepts }
}

/** Millionths of a USDC: the dearest of the ways to pay, whichever the payer takes. */
export function dearest({ accepts }: PaymentRequired): bigint {
  const amounts = accepts.map(({ amount }) => BigInt(amount))
  return amounts.sort((one, other) => (one < other ? 1 : -1))[0] ?? 0n
}

/** By an EIP-3009 authorization on EVM chains, as no other transfer is sold here. */
function isReadable({ scheme, extra }: PaymentRequirements): boolean {
  const transfer: unknown = extra?.['assetTransferMethod'] ?? 'eip3009'
  return schemes.includes(scheme) && transfer === 'eip3009'
}

function isUsdc({ network, asset, amount }: PaymentRequirements): boolean {
  const known = usdc[network]
  const isSame = /^0x/.test(asset) ? known?.toLowerCase() === asset.toLowerCase() : known === asset
  return isSame && /^[1-9]\d{0,15}$/.test(amount)
}
