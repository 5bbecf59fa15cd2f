import type { ComponentChildren } from 'preact'
import { plain } from './format.ts'

type ShareBarProps = {
  readonly label: ComponentChildren
  /** 0 to 1. */
  readonly share: number
  /** Instead of the share as a number. */
  readonly text?: string
}

/** A share as a bar with its value; inside a description list. */
export function ShareBar({ label, share, text = plain(share) }: ShareBarProps) {
  return (
    <div class="share">
      <dt>{label}</dt>
      <dd>
        <span class="share-bar" aria-hidden="true">
          <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />
        </span>
        {text}
      </dd>
    </div>
  )
}
