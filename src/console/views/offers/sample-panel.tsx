import { FigureList, figure, toneOf } from '../../components/figure.tsx'
import { bps, duration, percent, price, signedPercent, usd, word } from '../../components/format.ts'
import { Freshness } from '../../components/freshness.tsx'
import { changePct, sparklinePath } from '../../components/sparkline-path.ts'
import { facts } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'

/** The part of `/chart/{coin}` that is drawn. */
type Bars = {
  readonly bars: { readonly time_ms: readonly number[]; readonly close: readonly number[] }
}

const HOUR_MS = 3_600_000
const BOX = { width: 480, height: 96 }

/** The free coin: its price over the known hours, and the main figures of three analyses. */
export function SamplePanel({ coin }: { readonly coin: string }) {
  const name = encodeURIComponent(coin)
  const state = useDocument<AnswerOf<'pulse'>>(`/pulse/${name}`)
  const spread = useDocument<AnswerOf<'spread'>>(`/spread/${name}`).value
  const volatility = useDocument<AnswerOf<'volatility'>>(`/volatility/${name}`).value
  const current = state.value
  return (
    <section class="panel sample" aria-labelledby="sample">
      <header>
        <h2 id="sample">{coin} now</h2>
        {current.kind === 'answer' && <Freshness state={current} />}
      </header>
      {current.kind === 'answer' ? (
        <>
          <p class="sample-price">
            {price(current.answer.price.current)} <span>USD</span>
          </p>
          <PriceLine coin={coin} />
          <FigureList
            analysis="pulse"
            rows={[
              figure(
                'Funding p.a.',
                'derivatives.funding_annualized_pct',
                signedPercent(current.answer.derivatives.funding_annualized_pct),
                toneOf(current.answer.derivatives.funding_annualized_pct),
              ),
              figure(
                'Open interest',
                'derivatives.open_interest',
                usd(current.answer.derivatives.open_interest),
              ),
              figure('Regime', 'regime.current', word(current.answer.regime.current)),
              spread.kind === 'answer' && {
                ...{ label: 'Spread', analysis: 'spread', path: 'spread.bid_ask_bps' },
                value: bps(spread.answer.spread.bid_ask_bps),
              },
              volatility.kind === 'answer' && {
                ...{
                  label: 'Volatility, 24 h',
                  analysis: 'volatility',
                  path: 'volatility_24h_pct',
                },
                value: percent(volatility.answer.volatility_24h_pct, 1),
              },
            ]}
          />
          <p class="fine">
            Free, {facts().sample?.delaySeconds} s late.{' '}
            <a href={hrefOf('coin', coin)}>Everything about {coin}</a>
          </p>
        </>
      ) : (
        <p class="empty" aria-busy={current.kind === 'waiting'}>
          {current.kind === 'refused'
            ? current.refusal.detail
            : 'The free figures begin a minute after the service.'}
        </p>
      )}
    </section>
  )
}

function PriceLine({ coin }: { readonly coin: string }) {
  const chart = useDocument<Bars>(`/chart/${encodeURIComponent(coin)}`).value
  if (chart.kind !== 'answer') return null
  const { close } = chart.answer.bars
  const [first = Number.NaN] = close
  const last = close.at(-1) ?? Number.NaN
  const change = changePct(close)
  if (change === null) return null
  const direction = change < 0 ? 'down' : 'up'
  return (
    <figure class={`spark tone-${direction}`}>
      <svg
        viewBox={`0 -2 ${BOX.width} ${BOX.height + 4}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Price over ${close.length - 1} hours, from ${price(first)} to ${price(last)} USD`}
      >
        <path class="spark-line" d={sparklinePath(close, BOX)} />
      </svg>
      <figcaption>
        {signedPercent(change, 1)} <span>over {duration((close.length - 1) * HOUR_MS)}</span>
      </figcaption>
    </figure>
  )
}
