import type { ConsoleOffer, ConsoleQuality } from '../../../domain/console-protocol.ts'
import { duration, sharePercent } from '../../components/format.ts'
import { facts } from '../../live/service.ts'
import { hrefOf } from '../../shell/router.ts'
import { pathOfOffer } from '../../wallet/call-path.ts'

type OfferCardProps = {
  readonly offer: ConsoleOffer
  /** That of the call, for an analysis of one coin. */
  readonly coin: string
  /** undefined before it is known. */
  readonly quality: ConsoleQuality | undefined
}

/** One analysis: when to use it, its price, and how good its answer is now. */
export function OfferCard({ offer, coin, quality }: OfferCardProps) {
  const { payment } = facts()
  const { id, path, title, useWhen, priceUsdc } = offer
  const isFree = payment === 'free'
  return (
    <li class="panel offer">
      <header>
        <h3>
          <code>{path}</code>
        </h3>
        <p class="offer-price">
          {isFree ? 'free' : priceUsdc} {!isFree && <span>USDC</span>}
        </p>
      </header>
      <p class="offer-title">{title}</p>
      <p class="fine">Use it when {useWhen}</p>
      <footer>
        <Quality quality={quality} />
        <div class="actions">
          <a class="button" href={`/sample/${id}`}>
            Sample<span class="visually-hidden"> answer of {id}</span>
          </a>
          <a class="button" href={hrefOf('buy', pathOfOffer(offer, coin))}>
            {isFree ? 'Get' : 'Buy'}
            <span class="visually-hidden"> {id}</span>
          </a>
        </div>
      </footer>
    </li>
  )
}

function Quality({ quality }: Pick<OfferCardProps, 'quality'>) {
  if (quality === undefined) return <p class="freshness" />
  if ('refusal' in quality)
    return (
      <p class="freshness">
        <span class="refusal" title={quality.refusal.detail}>
          no answer now
        </span>
      </p>
    )
  const { grade, coveragePct, ageSeconds } = quality
  return (
    <p class="freshness">
      <span class={`grade grade-${grade}`}>
        <span class="visually-hidden">Grade </span>
        {grade}
      </span>
      <span>{duration(ageSeconds * 1_000)} old</span>
      <span>{sharePercent(coveragePct)} of inputs</span>
    </p>
  )
}
