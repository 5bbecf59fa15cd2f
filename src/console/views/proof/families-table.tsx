import { bps, count, percent } from '../../components/format.ts'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import { facts } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'
import { families, statusTitles } from './families.ts'

/** What is measured about each estimate today, with the figures of the free coin where there are some. */
export function FamiliesTable() {
  const coin = facts().sample?.coin ?? facts().coins[0] ?? 'BTC'
  const figures: Readonly<Record<string, string | null>> = {
    slippage: useSlippage(coin),
    volatility: useVolatility(coin),
  }
  return (
    <ScrollRegion label="Estimates and how they are measured">
      <table class="families">
        <thead>
          <tr>
            <th scope="col">Estimate</th>
            <th scope="col" class="text">
              Status today
            </th>
            <th scope="col" class="text">
              What the answers say
            </th>
            <th scope="col" class="text">
              Will be judged against
            </th>
          </tr>
        </thead>
        <tbody>
          {families.map(({ id, title, path, status, today, control }) => (
            <tr key={id}>
              <th scope="row">
                {title}
                <code>{path}</code>
              </th>
              <td class="text">
                <span class={`status status-${status}`}>{statusTitles[status]}</span>
              </td>
              <td class="text prose">
                {today}
                {figures[id] && <strong>{figures[id]}</strong>}
              </td>
              <td class="text prose">{control}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

function useSlippage(coin: string): string | null {
  const state = useDocument<AnswerOf<'spread'>>(`/spread/${coin}`).value
  if (state.kind !== 'answer') return null
  const { n, median_abs_error_bps, p90_abs_error_bps } = state.answer.spread.calibration
  return median_abs_error_bps === null
    ? `${coin} now: too few executions (${count(n)}).`
    : `${coin} now: ${count(n)} executions, median error ${bps(median_abs_error_bps)}, 90 % below ${bps(p90_abs_error_bps)}.`
}

function useVolatility(coin: string): string | null {
  const state = useDocument<AnswerOf<'volatility'>>(`/volatility/${coin}`).value
  if (state.kind !== 'answer') return null
  const { out_of_sample_error_pct, naive_error_pct, evaluations } = state.answer.forecast_24h
  if (out_of_sample_error_pct === null || naive_error_pct === null)
    return `${coin} now: too few evaluations (${count(evaluations)}).`
  const better = out_of_sample_error_pct < naive_error_pct ? 'better' : 'not better'
  return `${coin} now: error ${percent(out_of_sample_error_pct, 1)} over ${count(evaluations)} evaluations, naive ${percent(naive_error_pct, 1)}: ${better}.`
}
