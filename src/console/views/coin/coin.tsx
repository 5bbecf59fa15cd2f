import { defaultCoin } from '../../live/service.ts'
import { place } from '../../shell/router.ts'
import { BasisPanel } from './basis-panel.tsx'
import { BookPanel } from './book-panel.tsx'
import { CoinHead } from './coin-head.tsx'
import { FundingPanel } from './funding-panel.tsx'
import { GapPanel } from './gap-panel.tsx'
import { InterestPanel } from './interest-panel.tsx'
import { LiquidationPanel } from './liquidation-panel.tsx'
import { PricePanel } from './price-panel.tsx'
import { PulsePanel } from './pulse-panel.tsx'
import { VolatilityPanel } from './volatility-panel.tsx'

/** Wide panels, and columns of panels beside each other. */
const rows = [
  [[PulsePanel]],
  [[PricePanel]],
  [[LiquidationPanel]],
  [
    [FundingPanel, BasisPanel],
    [InterestPanel, BookPanel],
  ],
  [[VolatilityPanel]],
  [[GapPanel]],
]

/** Everything about one coin. */
export function Coin() {
  const coin = place.value.subject || defaultCoin()
  return (
    <>
      <CoinHead coin={coin} />
      <div class="coin-rows" key={coin}>
        {rows.map((columns) => (
          <div key={columns[0]?.[0]?.name} class="coin-row">
            {columns.map((panels) => (
              <div key={panels[0]?.name} class="coin-column">
                {panels.map((CoinPanel) => (
                  <CoinPanel key={CoinPanel.name} coin={coin} />
                ))}
              </div>
            ))}
          </div>
        ))}
      </div>
    </>
  )
}
