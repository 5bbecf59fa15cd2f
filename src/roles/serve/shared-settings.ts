import { privateKeyToAccount } from 'viem/accounts'
import { contracts } from '../../compute/analyses/registry.ts'
import type { ServeOptions } from '../../config/serve.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import type { SharedSettings } from '../../payment/ledger/agreement.ts'
import { publicUrlOf } from './public-url.ts'

/** What gateways of one ledger must share: a payment that one of them quoted is sold and settled by any other. */
export function sharedSettings(options: ServeOptions): SharedSettings {
  const { network, payTo, solanaPayTo, solanaNetwork, finality, paymentChannels, receiptKey } =
    options
  const prices = contracts.map(({ id, priceUsdcAtomic }) => [
    `price of ${id}`,
    usdcDecimal(priceUsdcAtomic),
  ])
  return {
    '--public-url': publicUrlOf(options),
    '--network': network,
    '--pay-to': payTo ?? 'none',
    '--solana-network': solanaPayTo === undefined ? 'none' : solanaNetwork,
    '--solana-pay-to': solanaPayTo ?? 'none',
    '--payment-channels': paymentChannels,
    '--finality': finalityOf(finality),
    '--broadcast-payer-max': usdcDecimal(options.broadcastPayerMax),
    '--broadcast-total-max': usdcDecimal(options.broadcastTotalMax),
    '--answers-minutes': String(options.answersMinutes),
    '--ledger-days': String(options.ledgerDays),
    '--sales-per-wallet-per-minute': String(options.salesPerWalletPerMinute),
    '--quotes-per-address-per-minute': String(options.quotesPerAddressPerMinute),
    '--receipt-key (its address)':
      receiptKey === undefined ? 'none' : privateKeyToAccount(receiptKey).address,
    '--contract-wallets': options.contractWallets,
    '--contract-gas-per-hour': String(options.contractGasPerHour),
    ...Object.fromEntries(prices),
  }
}

function finalityOf(rules: ServeOptions['finality']): string {
  const text = rules.map(({ finality, upTo }) =>
    upTo === null ? finality : `${finality}:${usdcDecimal(upTo)}`,
  )
  return text.join(',') || 'confirmed'
}
