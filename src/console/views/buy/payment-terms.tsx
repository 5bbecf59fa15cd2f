import type { PaymentRequirements } from '../../../client/client.ts'
import { networkOf } from '../../wallet/networks.ts'

/** What will be signed. */
export function PaymentTerms({ terms }: { readonly terms: PaymentRequirements }) {
  const { amount, network, payTo, asset, maxTimeoutSeconds } = terms
  return (
    <dl class="terms">
      <div>
        <dt>Amount</dt>
        <dd class="amount">{usdcOf(amount)} USDC</dd>
      </div>
      <div>
        <dt>Network</dt>
        <dd>{networkOf(network)?.name ?? network}</dd>
      </div>
      <div>
        <dt>Payee</dt>
        <dd>
          <code>{payTo}</code>
        </dd>
      </div>
      <div>
        <dt>Token</dt>
        <dd>
          <code>{asset}</code>
        </dd>
      </div>
      <div>
        <dt>Validity</dt>
        <dd>{maxTimeoutSeconds} s from the signature; after that it cannot be charged</dd>
      </div>
    </dl>
  )
}

/** @param atomic millionths of a USDC */
export function usdcOf(atomic: string): string {
  return String(Number(atomic) / 1e6)
}
