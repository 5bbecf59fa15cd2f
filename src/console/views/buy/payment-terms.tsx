import type { ComponentChildren } from 'preact'
import type { PaymentRequirements } from '../../../client/client.ts'
import { networkName } from '../../wallet/networks.ts'

/** What will be signed. */
export function PaymentTerms({ terms }: { readonly terms: PaymentRequirements }) {
  const { amount, network, payTo, asset, maxTimeoutSeconds } = terms
  return (
    <dl class="terms">
      <div>
        <dt>Amount</dt>
        <dd class="amount">{usdcOf(amount)} USDC</dd>
      </div>
      <TermsRow label="Network">{networkName(network)}</TermsRow>
      <TermsRow label="Payee">
        <code>{payTo}</code>
      </TermsRow>
      <TermsRow label="Token">
        <code>{asset}</code>
      </TermsRow>
      <TermsRow label="Validity">
        {maxTimeoutSeconds} s from the signature; after that it cannot be charged
      </TermsRow>
    </dl>
  )
}

type TermsRowProps = { readonly label: string; readonly children: ComponentChildren }

/** One line of the terms, or of a receipt. */
export function TermsRow({ label, children }: TermsRowProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** @param atomic millionths of a USDC */
export function usdcOf(atomic: string): string {
  return String(Number(atomic) / 1e6)
}
