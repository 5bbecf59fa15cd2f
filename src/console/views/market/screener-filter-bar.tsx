import type { ComponentChildren } from 'preact'
import { sectors } from '../../../domain/sectors.ts'
import { usd, word } from '../../components/format.ts'
import { setParameter } from '../../shell/router.ts'
import type { ScreenerFilters } from './screener-rows.ts'
import { crowdings, NO_SECTOR, trends, volumesUsd } from './screener-rows.ts'

/** The filters of the screener; they are kept in the address. */
export function ScreenerFilterBar({ filters }: { readonly filters: ScreenerFilters }) {
  const { text, sector, trend, crowding, volumeUsdMin } = filters
  return (
    <search class="filters">
      <label>
        <span>Coin</span>
        <input
          type="search"
          value={text}
          placeholder="any"
          autocomplete="off"
          onInput={({ currentTarget: { value } }) => set('coin', value)}
        />
      </label>
      <Choice parameter="sector" label="Sector" chosen={sector}>
        {sectors.map((name) => (
          <option key={name}>{name}</option>
        ))}
        <option value={NO_SECTOR}>none</option>
      </Choice>
      <Choice parameter="trend" label="Trend" chosen={trend}>
        {trends.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </Choice>
      <Choice parameter="crowding" label="Funding side" chosen={crowding}>
        {crowdings.map((name) => (
          <option key={name} value={name}>
            {word(name)}
          </option>
        ))}
      </Choice>
      <Choice parameter="volume" label="Volume from" chosen={volumeUsdMin}>
        {volumesUsd.map((volume) => (
          <option key={volume} value={volume}>
            {usd(volume)}
          </option>
        ))}
      </Choice>
    </search>
  )
}

type ChoiceProps = {
  readonly parameter: string
  readonly label: string
  readonly chosen: string | number | null
  readonly children: ComponentChildren
}

function Choice({ parameter, label, chosen, children }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select
        value={chosen ?? ''}
        onChange={({ currentTarget: { value } }) => set(parameter, value)}
      >
        <option value="">any</option>
        {children}
      </select>
    </label>
  )
}

function set(parameter: string, value: string): void {
  setParameter(parameter, value === '' ? null : value)
}
