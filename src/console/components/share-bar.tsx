import { plain } from './format.ts'
import { Term } from './term.tsx'

type ShareBarProps = {
  readonly label: string
  readonly analysis: string
  /** Path of the member whose definition the label shows. */
  readonly path: string
  /** 0 to 1. */
  readonly share: number
  /** Instead of the share as a number. */
  readonly text?: string
}

/** A share as a bar with its value; inside a description list. */
export function ShareBar({ label, analysis, path, share, text = plain(share) }: ShareBarProps) {
  return (
    <div class="share">
      <dt>
        <Term analysis={analysis} path={path}>
          {label}
        </Term>
      </dt>
      <dd>
        <span class="share-bar" aria-hidden="true">
          <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />
        </span>
        {text}
      </dd>
    </div>
  )
}
