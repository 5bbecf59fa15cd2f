import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type PartProps = {
  readonly title: string
  /** `wide` takes the whole row. */
  readonly width?: 'wide' | 'half'
  /** One sentence: what the figures cover. */
  readonly note?: string
  readonly children: ComponentChildren
}

/** A titled part of a report. */
export function Part({ title, width = 'half', note, children }: PartProps) {
  const id = useId()
  return (
    <section class={`panel panel-${width}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
      </header>
      {children}
      {note !== undefined && <p class="note">{note}</p>}
    </section>
  )
}
