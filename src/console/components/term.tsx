import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { definitionOf } from '../live/definitions.ts'

type TermProps = {
  readonly analysis: string
  /** Path of the member in the answer: `spread.slippage[].buy_bps`. */
  readonly path: string
  /** What a press does besides showing the definition, such as sorting by a column. */
  readonly onPress?: () => void
  readonly children: ComponentChildren
}

/** A label whose definition appears by hover, focus or tap; Escape hides it. */
export function Term({ analysis, path, onPress, children }: TermProps) {
  const definition = useSignal<string | null>(null)
  const isShown = useSignal(false)
  const label = useRef<HTMLButtonElement>(null)
  const id = useId()
  const show = async () => {
    isShown.value = true
    definition.value ??= await definitionOf(analysis, path)
  }
  const hide = () => {
    isShown.value = false
  }
  const isOpen = isShown.value && definition.value !== null
  useEffect(() => {
    if (!isOpen) return
    // It would stay where its label was.
    addEventListener('scroll', hide, true)
    return () => removeEventListener('scroll', hide, true)
  }, [isOpen])
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside has the same behaviour for the keyboard
    <span class="term" onMouseEnter={show} onMouseLeave={hide}>
      <button
        ref={label}
        type="button"
        aria-describedby={isOpen ? id : undefined}
        onFocus={show}
        onBlur={hide}
        onClick={() => {
          onPress?.()
          return show()
        }}
        onKeyDown={({ key }) => key === 'Escape' && hide()}
      >
        {children}
      </button>
      {isOpen && (
        <span class="definition" role="tooltip" id={id} style={positionAt(label.current)}>
          {definition.value}
        </span>
      )}
    </span>
  )
}

type TermHeadingProps = Pick<TermProps, 'analysis' | 'path'> & {
  readonly title: string
  /** What follows the title and has no definition. */
  readonly children?: ComponentChildren
}

/** The heading of a part of a panel, whose title has a definition. */
export function TermHeading({ title, analysis, path, children }: TermHeadingProps) {
  return (
    <h3>
      <Term analysis={analysis} path={path}>
        {title}
      </Term>
      {children}
    </h3>
  )
}

/** As in the style sheet. */
const WIDTH_PX_MAX = 304
const HEIGHT_PX_USUAL = 150
const GAP_PX = 4

/** Below the label or, at the end of the page, above it; a scrolling table would cut it off. */
function positionAt(label: HTMLElement | null) {
  if (label === null) return {}
  const { left, top, bottom } = label.getBoundingClientRect()
  const width = Math.min(WIDTH_PX_MAX, 0.75 * innerWidth)
  const isAbove = bottom + HEIGHT_PX_USUAL > innerHeight && top > HEIGHT_PX_USUAL
  return {
    left: `${Math.max(GAP_PX, Math.min(left, innerWidth - width - 2 * GAP_PX))}px`,
    ...(isAbove ? { bottom: `${innerHeight - top + GAP_PX}px` } : { top: `${bottom + GAP_PX}px` }),
  }
}
