import type { ComponentChildren } from 'preact'
import { signedPercent } from './format.ts'
import { Term } from './term.tsx'

/** Colors a figure: gains and longs, losses and shorts, or something to look at. */
export type Tone = 'up' | 'down' | 'warn' | 'plain'

type FigureRow = {
  readonly label: string
  /** Path of the member in the answer; a label without one has no definition. */
  readonly path?: string
  /** Analysis that `path` belongs to; the list's by default. */
  readonly analysis?: string
  readonly value: ComponentChildren
  readonly tone?: Tone
}

export function figure(
  label: string,
  path: string,
  value: ComponentChildren,
  tone: Tone = 'plain',
): FigureRow {
  return { label, path, value, tone }
}

/** A figure of a report, without a definition. */
export function fact(label: string, value: ComponentChildren, tone: Tone = 'plain'): FigureRow {
  return { label, value, tone }
}

type FigureListProps = {
  readonly analysis?: string
  readonly rows: readonly (FigureRow | false)[]
}

/** Values of one answer or report with their labels; `false` is no row. */
export function FigureList({ analysis: own = '', rows }: FigureListProps) {
  return (
    <dl class="figures">
      {rows
        .filter((row) => row !== false)
        .map(({ label, path, analysis = own, value, tone = 'plain' }) => (
          <div key={label} class="figure" data-path={path}>
            <dt>
              {path === undefined ? (
                label
              ) : (
                <Term analysis={analysis} path={path}>
                  {label}
                </Term>
              )}
            </dt>
            <dd class={`tone-${tone}`}>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

export function toneOf(value: number | null | undefined): Tone {
  if (value == null || value === 0) return 'plain'
  return value > 0 ? 'up' : 'down'
}

/** A text in the color of its tone. */
export function toned(tone: Tone, text: ComponentChildren): ComponentChildren {
  return tone === 'plain' ? text : <span class={`tone-${tone}`}>{text}</span>
}

/** A change in the color of its sign, as it is shown: a change that is shown as zero has none. */
export function tonedPercent(change: number | null | undefined): ComponentChildren {
  const text = signedPercent(change)
  return toned(toneOf(Number.parseFloat(text) || null), text)
}

/** A value followed by a smaller note. */
export function noted(value: ComponentChildren, note: ComponentChildren): ComponentChildren {
  return (
    <>
      {value} <small>{note}</small>
    </>
  )
}
