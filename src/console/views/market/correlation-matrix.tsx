import { NOTHING, plain } from '../../components/format.ts'
import { ScrollRegion } from '../../components/scroll-region.tsx'
import type { SectorMatrix } from './matrix-order.ts'

/** The text stays readable on the strongest color. */
const COLOR_PCT_MAX = 45

/** Every pair as a colored figure; sectors are neighbours. */
export function CorrelationMatrix({ matrix }: { readonly matrix: SectorMatrix }) {
  const { groups, coins, values } = matrix
  return (
    <ScrollRegion label="Correlation matrix">
      <table class="matrix">
        <thead>
          <tr>
            <td />
            {groups.map(({ sector, size }) => (
              <th key={sector} scope="colgroup" colSpan={size}>
                <span>{sector ?? 'none'}</span>
              </th>
            ))}
          </tr>
          <tr>
            <td />
            {coins.map((coin) => (
              <th key={coin} scope="col">
                <span>{coin}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {values.map((row, at) => (
            <tr key={coins[at]}>
              <th scope="row">{coins[at]}</th>
              {row.map((r, column) => (
                <td
                  key={coins[column]}
                  class={(r ?? 0) < 0 ? 'negative' : undefined}
                  style={{ '--heat': `${Math.abs(at === column ? 0 : (r ?? 0)) * COLOR_PCT_MAX}%` }}
                >
                  {at === column ? NOTHING : plain(r)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}
