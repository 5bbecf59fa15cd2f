import { facts } from '../../live/service.ts'
import { hrefOf, navigate } from '../../shell/router.ts'
import type { Call } from '../../wallet/call-path.ts'
import { pathOfCall } from '../../wallet/call-path.ts'

/** Chooses an analysis and its coin. */
export function CallPicker({ call }: { readonly call: Call }) {
  const { offers, coins, sample } = facts()
  const offer = offers.find(({ id }) => id === call.analysis)
  const choose = (changed: Partial<Call>) => {
    navigate(hrefOf('buy', pathOfCall({ ...call, search: '', ...changed })))
  }
  const chooseAnalysis = (analysis: string) => {
    const isOfCoin = offers.find(({ id }) => id === analysis)?.scope === 'coin'
    const coin = call.coin || sample?.coin || coins[0] || ''
    choose({ analysis, coin: isOfCoin ? coin : '' })
  }
  return (
    <form class="picker" onSubmit={(event) => event.preventDefault()}>
      <label>
        Analysis
        <select
          value={call.analysis}
          onChange={({ currentTarget }) => chooseAnalysis(currentTarget.value)}
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
            onChange={({ currentTarget }) => choose({ coin: currentTarget.value })}
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
