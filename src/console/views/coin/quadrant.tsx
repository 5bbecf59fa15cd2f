import { signedPercent, word } from '../../components/format.ts'
import type { AnswerOf } from '../../live/use-document.ts'

type Positioning = AnswerOf<'oi'>['oi']['positioning']

type QuadrantProps = {
  readonly positioning: Positioning
  /** Over 4 hours; null if unknown. */
  readonly pricePct: number | null
  readonly interestPct: number | null
}

/** Rows: open interest up, down. Columns: price down, up. */
const cells: readonly (readonly Positioning[])[] = [
  ['SHORT_BUILDUP', 'LONG_BUILDUP'],
  ['LONG_UNWIND', 'SHORT_COVERING'],
]

/** The four ways in which price and open interest move, by the names of the answer; the present one is marked. */
export function Quadrant({ positioning, pricePct, interestPct }: QuadrantProps) {
  return (
    <table class="quadrant">
      <caption>
        {pricePct === null || interestPct === null
          ? 'Available after 4 hours of readings.'
          : `Price ${signedPercent(pricePct)}, open interest ${signedPercent(interestPct)} in 4 hours`}
      </caption>
      <thead>
        <tr>
          <td />
          <th scope="col">price down</th>
          <th scope="col">price up</th>
        </tr>
      </thead>
      <tbody>
        {cells.map((row, at) => (
          <tr key={row[0]}>
            <th scope="row">{at === 0 ? 'interest up' : 'interest down'}</th>
            {row.map((name) => (
              <td key={name} aria-current={name === positioning ? 'true' : undefined}>
                {word(name)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
