import { facts } from '../../live/service.ts'
import { hrefOf, navigate } from '../../shell/router.ts'
import type { Call } from '../../wallet/call-path.ts'
import { pathOfOffer } from '../../wallet/call-path.ts'

/** Chooses an analysis and its coin. */
export function CallPicker({ call }: { readonly call: Call }) {
  const { offers, coins, sample } = facts()
  const offer = offers.find(({ id }) => id === call.analysis)
  const choose = (analysis: string, coin: string) => {
    const chosen = offers.find(({ id }) => id === analysis)
    if (chosen !== undefined) navigate(hrefOf('buy', pathOfOffer(chosen, coin)))
  }
  return (
    <form class="picker" onSubmit={(event) => event.preventDefault()}>
      <label>
        Analysis
        <select
          value={call.analysis}
          onChange={({ currentTarget }) =>
            choose(currentTarget.value, call.coin || sample?.coin || coins[0] || '')
          }
        >
          {offers.map(({ id, priceUsdc }) => (
            <option key={id} value={id}>
              {id} · {priceUsdc} USDC
            </option>
          ))}
        </select>
      </label>
      {offer?.scope === 'coin' && (
        <label>
          Coin
          <select
            value={call.coin}
            onChange={({ currentTarget }) => choose(call.analysis, currentTarget.value)}
          >
            {[...new Set([call.coin, ...coins])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
    </form>
  )
}
