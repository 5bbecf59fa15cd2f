import { facts } from '../../live/service.ts'
import { hrefOf, navigate, place } from '../../shell/router.ts'
import { FundingPanel } from './funding-panel.tsx'
import { PulsePanel } from './pulse-panel.tsx'

/** Everything about one coin. */
export function Coin() {
  const { coins, sample } = facts()
  const coin = place.value.subject || sample?.coin || coins[0] || 'BTC'
  return (
    <>
      <div class="coin-head">
        <h1>{coin}</h1>
        <label>
          Coin{' '}
          <select
            value={coin}
            onChange={({ currentTarget }) => navigate(hrefOf('coin', currentTarget.value))}
          >
            {[...new Set([coin, ...coins])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <div class="grid">
        <PulsePanel key={coin} coin={coin} />
        <FundingPanel key={`funding ${coin}`} coin={coin} />
      </div>
    </>
  )
}
