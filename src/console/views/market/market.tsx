import { facts } from '../../live/service.ts'
import { CorrelationPanel } from './correlation-panel.tsx'
import { FundingPanel } from './funding-panel.tsx'
import { MarketPanel } from './market-panel.tsx'
import { RegimePanel } from './regime-panel.tsx'
import { ScreenerPanel } from './screener-panel.tsx'

/** All coins at once. */
export function Market() {
  return (
    <>
      <h1>Market</h1>
      <div class="grid">
        <MarketPanel />
        <RegimePanel />
        <ScreenerPanel />
        {/* It is not sold, and shows all coins. */}
        {facts().port === 'admin' && <FundingPanel />}
        <CorrelationPanel />
      </div>
    </>
  )
}
