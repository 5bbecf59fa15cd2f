import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { ProblemBody } from '../../../client/client.ts'
import { facts } from '../../live/service.ts'
import { hrefOf, place } from '../../shell/router.ts'
import { callOf, pathOfCall, pathOfOffer } from '../../wallet/call-path.ts'
import { pagePurchases } from '../../wallet/page-purchases.ts'
import type { PurchaseState } from '../../wallet/purchases.ts'
import { findWallets } from '../../wallet/wallets.ts'
import { AgentWays } from './agent-ways.tsx'
import { BoughtAnswer } from './bought-answer.tsx'
import { CallPicker } from './call-picker.tsx'
import { NoticePanel } from './notice-panel.tsx'
import { chargedTitle, QuotedTerms } from './quoted-terms.tsx'

/** The purchase of one answer. A browser that opened a paid path buys the answer of that path. */
export function Buy() {
  const path = pathAskedFor()
  const state = pagePurchases().stateOf(path)
  useEffect(() => {
    findWallets()
    if (state.peek().kind === 'quoting') void pagePurchases().quote(path)
  }, [path])
  const panel = useRef<HTMLElement>(null)
  // The pressed button is removed by what its press brings about.
  const hadFocus = panel.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (hadFocus && !panel.current?.contains(document.activeElement)) panel.current?.focus()
  })
  const call = callOf(path)
  const offer = facts().offers.find(({ id }) => id === call.analysis)
  return (
    <>
      <h1>Buy an answer</h1>
      {offer && (
        <p class="lead">
          <code>{path}</code> returns {offer.returns}
        </p>
      )}
      <CallPicker call={call} />
      <div class="buy-grid">
        <section
          ref={panel}
          class="stack"
          aria-label="Purchase"
          tabIndex={-1}
          data-purchase={state.value.kind}
        >
          <p class="visually-hidden" role="status">
            {sentenceOf(state.value)}
          </p>
          <Purchase path={path} state={state.value} />
        </section>
        {withAgentWays.has(state.value.kind) && <AgentWays path={path} />}
      </div>
    </>
  )
}

/** States of a purchase in which another way to buy helps. */
const withAgentWays: ReadonlySet<PurchaseState['kind']> = new Set(['quoting', 'quoted', 'paying'])

function pathAskedFor(): string {
  const { subject } = place.value
  // A hostile link may name another host, or have a fragment, which no call has.
  const url = subject === '' ? null : URL.parse(subject, location.origin)
  if (url?.origin === location.origin) return asCalled(url)
  if (location.pathname !== '/') return asCalled(location)
  const { offers, sample, coins } = facts()
  const [first] = offers
  return first === undefined ? '/' : pathOfOffer(first, sample?.coin ?? coins[0] ?? '')
}

/** The coin is written as the views write it, so that they show the answer. */
function asCalled({ pathname, search }: Pick<URL, 'pathname' | 'search'>): string {
  return pathOfCall(callOf(pathname + search))
}

const steps = {
  account: 'The wallet asks which account pays. Nothing is signed yet.',
  network: 'The wallet asks to change its network. Nothing is signed yet.',
  signature: 'Compare amount and payee in the wallet, then sign there.',
  sending: 'Signed. The service settles the payment and sends the answer within seconds.',
} as const

const OPEN_TITLE = 'A signed payment has bought nothing yet'

/** What has just happened, for screen readers. */
function sentenceOf(state: PurchaseState): string {
  switch (state.kind) {
    case 'quoting':
      return 'Waiting for the quote.'
    case 'unreachable':
      return 'The service cannot be reached. Nothing was signed or charged.'
    case 'refused':
      return `${state.problem.title}. ${state.problem.detail} Nothing was charged.`
    case 'quoted':
      return state.failure === null
        ? 'The terms of the payment are shown.'
        : `${chargedTitle(state.failure.charged)}. ${state.failure.text}`
    case 'paying':
      return steps[state.step]
    case 'open':
      return `${OPEN_TITLE}. ${state.detail}`
    case 'bought':
      return 'The answer has arrived.'
    default:
      return state satisfies never
  }
}

type PurchaseProps = { readonly path: string; readonly state: PurchaseState }

function Purchase({ path, state }: PurchaseProps) {
  switch (state.kind) {
    case 'quoting':
      return (
        <p class="panel empty" aria-busy="true">
          Waiting for the quote.
        </p>
      )
    case 'unreachable':
      return (
        <NoticePanel
          title="The service cannot be reached"
          text={`${state.detail}. Nothing was signed or charged.`}
        >
          <QuoteAgain path={path}>Try again</QuoteAgain>
        </NoticePanel>
      )
    case 'refused':
      return <Refused path={path} problem={state.problem} />
    case 'quoted':
      return <QuotedTerms path={path} state={state} />
    case 'paying':
      return <p class="panel step">{steps[state.step]}</p>
    case 'open':
      return (
        <NoticePanel title={OPEN_TITLE} text={state.detail}>
          <button type="button" class="button primary" onClick={() => pagePurchases().resume(path)}>
            Send the same payment again
          </button>
          {state.isRefused && (
            <button type="button" class="button" onClick={() => pagePurchases().discard(path)}>
              Discard the payment
            </button>
          )}
        </NoticePanel>
      )
    case 'bought':
      return (
        <>
          <BoughtAnswer path={path} answer={state.answer} receipt={state.receipt} />
          <QuoteAgain path={path}>Get a newer answer</QuoteAgain>
        </>
      )
    default:
      return state satisfies never
  }
}

function Refused({ path, problem }: { readonly path: string; readonly problem: ProblemBody }) {
  const { title, detail, did_you_mean: meant = [], retryable, retry_after: seconds } = problem
  const isAboutCoin = problem.param === 'coin' || problem.param === 'token'
  return (
    <NoticePanel title={title} text={`${detail} Nothing was charged.`}>
      {isAboutCoin &&
        meant.map((coin) => (
          <a key={coin} class="button" href={hrefOf('buy', pathOfCall({ ...callOf(path), coin }))}>
            {coin}
          </a>
        ))}
      {retryable && (
        <QuoteAgain path={path}>
          {seconds === null ? 'Try again' : `Try again (in ${seconds} s)`}
        </QuoteAgain>
      )}
    </NoticePanel>
  )
}

function QuoteAgain({ path, children }: { readonly path: string; readonly children: string }) {
  return (
    <button type="button" class="button" onClick={() => pagePurchases().quote(path)}>
      {children}
    </button>
  )
}
