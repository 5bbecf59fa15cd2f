import { useId } from 'preact/hooks'
import { facts } from '../../live/service.ts'
import { hrefOf, navigate } from '../../shell/router.ts'
import { coinNamed } from './coin-named.ts'

/** A field that completes the names of coins. A full name, or Enter on the beginning of one, opens the coin. */
export function CoinPicker({ coin }: { readonly coin: string }) {
  const { coins } = facts()
  const list = useId()
  const open = (name: string | null) => {
    if (name !== null && name !== coin) navigate(hrefOf('coin', name))
  }
  return (
    <form
      class="coin-picker"
      onSubmit={(event) => {
        event.preventDefault()
        const { value } = event.currentTarget.elements.namedItem('coin') as HTMLInputElement
        open(coinNamed(value, coins))
      }}
    >
      <label>
        Coin{' '}
        <input
          name="coin"
          type="search"
          list={list}
          placeholder="Search"
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => {
            if (coins.includes(currentTarget.value)) open(currentTarget.value)
          }}
        />
      </label>
      <datalist id={list}>
        {coins.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" class="button">
        Open
      </button>
    </form>
  )
}
