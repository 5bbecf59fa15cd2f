import { UnpayableError } from './errors.ts'
import type { PaymentRequired, PaymentRequirements } from './x402.ts'

/** USDC by network. Quotes in other assets are not signed. */
const usdc: Readonly<Record<string, string>> = {
  'eip155:8453': '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  'eip155:84532': '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
}

/** @throws UnpayableError if the header is missing or invalid */
export function decodeQuote(header: string | null): PaymentRequired {
  if (header === null) throw new UnpayableError('the quote has no PAYMENT-REQUIRED header')
  try {
    const quote = JSON.parse(atob(header)) as PaymentRequired
    if (quote.x402Version === 2 && Array.isArray(quote.accepts)) return quote
  } catch {
    // Reported below.
  }
  throw new UnpayableError('the quote cannot be read')
}

/** Schemes whose payments this client can decode, and so check amount and validity. */
const schemes = ['exact', 'batch-settlement']

/** The quote, reduced to terms in USDC with an acceptable validity. @throws UnpayableError if none is left */
export function payable(quote: PaymentRequired, timeoutSecondsMax: number): PaymentRequired {
  const known = quote.accepts.filter((one) => isUsdc(one) && isReadable(one))
  if (known.length === 0)
    throw new UnpayableError('the quote offers no USDC on a supported network; nothing was signed')
  // A text would pass a comparison, and be appended to the present second by what signs.
  const accepts = known.filter(
    ({ maxTimeoutSeconds: seconds }) => Number.isFinite(seconds) && seconds <= timeoutSecondsMax,
  )
  if (accepts.length === 0)
    throw new UnpayableError(
      `the quote requires a payment that is valid for ${known[0]?.maxTimeoutSeconds} s; the limit is ` +
        `${timeoutSecondsMax} s; nothing was signed. Raise maxTimeoutSeconds to allow it`,
    )
  return { ...quote, accepts }
}

/** The highest amount of the terms, millionths of a USDC. */
export function highestAmount({ accepts }: PaymentRequired): bigint {
  const amounts = accepts.map(({ amount }) => BigInt(amount))
  return amounts.sort((one, other) => (one < other ? 1 : -1))[0] ?? 0n
}

/** On EVM chains only EIP-3009 authorizations can be decoded. */
function isReadable({ scheme, extra }: PaymentRequirements): boolean {
  const transfer: unknown = extra?.['assetTransferMethod'] ?? 'eip3009'
  return schemes.includes(scheme) && transfer === 'eip3009'
}

function isUsdc({ network, asset, amount }: PaymentRequirements): boolean {
  const known = usdc[network]
  const isSame = /^0x/.test(asset) ? known?.toLowerCase() === asset.toLowerCase() : known === asset
  return known !== undefined && isSame && /^[1-9]\d{0,15}$/.test(amount)
}
