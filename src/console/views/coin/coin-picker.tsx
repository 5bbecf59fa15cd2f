import { useId } from 'preact/hooks'
import { facts } from '../../live/service.ts'
import { hrefOf, navigate } from '../../shell/router.ts'
import { coinNamed } from './coin-named.ts'

/** A field that completes the names of coins. A choice from the list, or Enter on the beginning of a name, opens the coin. */
export function CoinPicker({ coin }: { readonly coin: string }) {
  const { coins } = facts()
  const list = useId()
  const open = (name: string | null, field: HTMLInputElement) => {
    if (name === null || name === coin) return
    field.value = ''
    navigate(hrefOf('coin', name))
  }
  return (
    <form
      class="coin-picker"
      onSubmit={(event) => {
        event.preventDefault()
        const field = event.currentTarget.elements.namedItem('coin') as HTMLInputElement
        open(coinNamed(field.value, coins), field)
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
          onInput={(event) => {
            const { currentTarget: field } = event
            if (isChosen(event) && coins.includes(field.value)) open(field.value, field)
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

/** Not by a keystroke: `S` is a coin, and the beginning of `SOL`. Firefox reports a choice without a type. */
function isChosen(event: Event): boolean {
  const type = 'inputType' in event ? event.inputType : undefined
  return type === undefined || type === 'insertReplacementText'
}
