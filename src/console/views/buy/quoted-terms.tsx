import { pagePurchases } from '../../wallet/page-purchases.ts'
import type { PurchaseState } from '../../wallet/purchases.ts'
import { PAGE_BUDGET } from '../../wallet/purchases.ts'
import { wallets } from '../../wallet/wallets.ts'
import { NoticePanel } from './notice-panel.tsx'
import { PaymentTerms, usdcOf } from './payment-terms.tsx'

type QuotedTermsProps = {
  readonly path: string
  readonly state: Extract<PurchaseState, { kind: 'quoted' }>
}

/** The terms, the wallets that can sign them, and how the last attempt ended. */
export function QuotedTerms({ path, state: { terms, failure, accepts } }: QuotedTermsProps) {
  if (terms === null)
    return (
      <NoticePanel
        title="Browser wallets cannot pay here"
        text={
          `The service accepts payments on ${accepts.map(({ network }) => network).join(', ')} only. ` +
          'An agent can buy the answer.'
        }
      />
    )
  return (
    <>
      {failure !== null && (
        <NoticePanel title={chargedTitle(failure.charged)} text={failure.text} />
      )}
      <section class="panel" aria-labelledby="terms">
        <header>
          <h2 id="terms">What you sign</h2>
        </header>
        <PaymentTerms terms={terms} />
        <PayButtons path={path} amount={usdcOf(terms.amount)} />
        <p class="fine">
          You sign one transfer of this amount to this payee; the service pays the gas. You are
          charged only if an answer is returned. This page signs at most {PAGE_BUDGET.maxUsdPerCall}{' '}
          USDC for one answer and {PAGE_BUDGET.totalUsd} USDC until it is reloaded.
        </p>
      </section>
    </>
  )
}

function PayButtons({ path, amount }: { readonly path: string; readonly amount: string }) {
  if (wallets.value.length === 0)
    return (
      <p class="no-wallet">
        No browser wallet was found. Install one, add USDC on Base and reload the page, or let an
        agent buy the answer.
      </p>
    )
  return (
    <div class="actions">
      {wallets.value.map(({ id, name, provider }) => (
        <button
          key={id}
          type="button"
          class="button primary"
          onClick={() => pagePurchases().pay(path, provider)}
        >
          Pay {amount} USDC with {name}
        </button>
      ))}
    </div>
  )
}

export function chargedTitle(charged: boolean | null): string {
  if (charged === null) return 'It is not known whether the payment was charged'
  return charged ? 'The payment was charged' : 'Nothing was charged'
}
