import type { SettleResponse } from '../../../client/client.ts'
import { answerFileText } from '../../../proof/answer-file.ts'
import { facts } from '../../live/service.ts'
import { hrefOf } from '../../shell/router.ts'
import { callOf } from '../../wallet/call-path.ts'
import { networkName, networkOf } from '../../wallet/networks.ts'
import { isShownOfCoin } from '../coin/coin-documents.ts'
import { JsonTree } from './json-tree.tsx'
import { TermsRow } from './payment-terms.tsx'

type BoughtAnswerProps = {
  readonly path: string
  readonly answer: unknown
  /** null if nothing was paid. */
  readonly receipt: SettleResponse | null
}

/** The receipt, and after it the answer. */
export function BoughtAnswer({ path, answer, receipt }: BoughtAnswerProps) {
  const { coin } = callOf(path)
  return (
    <section class="panel" aria-labelledby="answer">
      <header>
        <h2 id="answer">
          Answer to <code>{path}</code>
        </h2>
        <div class="actions">
          {isShownOfCoin(path) && (
            <a class="button" href={hrefOf('coin', coin)}>
              Show in the view of {coin}
            </a>
          )}
          {receipt !== null && (
            <button type="button" class="button" onClick={() => save(path, answer, receipt)}>
              Save answer and receipt
            </button>
          )}
        </div>
      </header>
      {receipt === null ? (
        <p class="fine">This service sends its answers for free.</p>
      ) : (
        <Receipt receipt={receipt} />
      )}
      <ul class="json json-root">
        <JsonTree name={path} value={answer} open={2} />
      </ul>
    </section>
  )
}

function Receipt({ receipt }: { readonly receipt: SettleResponse }) {
  const { network, transaction, payer } = receipt
  const known = networkOf(network)
  return (
    <dl class="terms receipt">
      <TermsRow label="Paid on">{networkName(network)}</TermsRow>
      <TermsRow label="From">
        <code>{payer}</code>
      </TermsRow>
      <TermsRow label="Transaction">
        {known === null ? (
          <code>{transaction}</code>
        ) : (
          <a href={known.explorerOf(transaction)} rel="noreferrer" target="_blank">
            <code>{transaction}</code>
            <span class="visually-hidden"> in the block explorer, in a new tab</span>
          </a>
        )}
      </TermsRow>
      <TermsRow label="Receipt">
        {facts().receiptSigner === null ? (
          'This service signs no receipts.'
        ) : (
          <>
            Signed, with the hash of the answer. Save both, and{' '}
            <a href={hrefOf('proof')}>check them</a> at any time.
          </>
        )}
      </TermsRow>
    </dl>
  )
}

function save(path: string, answer: unknown, receipt: SettleResponse): void {
  const text = answerFileText({ path, answer: answer as Record<string, unknown>, receipt })
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `perpscope${path.replaceAll(/[^A-Za-z0-9]+/g, '-')}.json`
  link.click()
  URL.revokeObjectURL(url)
}
