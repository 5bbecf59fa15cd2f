import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { definitionOf } from '../live/definitions.ts'

type TermProps = {
  readonly analysis: string
  /** Path of the member in the answer: `spread.slippage[].buy_bps`. */
  readonly path: string
  readonly children: ComponentChildren
}

/** A label whose definition appears by hover, focus or tap; Escape hides it. */
export function Term({ analysis, path, children }: TermProps) {
  const definition = useSignal<string | null>(null)
  const isShown = useSignal(false)
  const id = useId()
  const show = async () => {
    isShown.value = true
    definition.value ??= await definitionOf(analysis, path)
  }
  const hide = () => {
    isShown.value = false
  }
  const isOpen = isShown.value && definition.value !== null
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside has the same behaviour for the keyboard
    <span class="term" onMouseEnter={show} onMouseLeave={hide}>
      <button
        type="button"
        aria-describedby={isOpen ? id : undefined}
        onFocus={show}
        onBlur={hide}
        onClick={show}
        onKeyDown={({ key }) => key === 'Escape' && hide()}
      >
        {children}
      </button>
      {isOpen && (
        <span class="definition" role="tooltip" id={id}>
          {definition.value}
        </span>
      )}
    </span>
  )
}
