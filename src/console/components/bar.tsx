import type { Tone } from './figure.tsx'

type BarProps = {
  /** 0 to 1 of the length. */
  readonly share: number
  readonly tone?: Tone
}

/** A share as a length; the figure stands next to it. */
export function Bar({ share, tone = 'plain' }: BarProps) {
  return (
    <span class="bar" aria-hidden="true">
      <span class={`fill tone-${tone}`} style={{ width: `${100 * within(share)}%` }} />
    </span>
  )
}

/** -1 to 1 as a length to the left or the right of the middle. */
export function SignedBar({ share }: { readonly share: number }) {
  const length = 50 * within(Math.abs(share))
  return (
    <span class="bar bar-signed" aria-hidden="true">
      <span
        class={`fill tone-${share < 0 ? 'down' : 'up'}`}
        style={{ left: `${share < 0 ? 50 - length : 50}%`, width: `${length}%` }}
      />
    </span>
  )
}

function within(share: number): number {
  return Math.min(1, Math.max(0, share))
}
