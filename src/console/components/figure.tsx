import type { ComponentChildren } from 'preact'
import { Term } from './term.tsx'

/** Colors a figure: gains and longs, losses and shorts, or something to look at. */
export type Tone = 'up' | 'down' | 'warn' | 'plain'

type FigureProps = {
  readonly label: string
  readonly analysis: string
  /** Path of the member in the answer. */
  readonly path: string
  readonly tone?: Tone
  readonly children: ComponentChildren
}

/** One value with its label; inside a {@link Figures}. */
export function Figure({ label, analysis, path, tone = 'plain', children }: FigureProps) {
  return (
    <div class="figure" data-path={path}>
      <dt>
        <Term analysis={analysis} path={path}>
          {label}
        </Term>
      </dt>
      <dd class={`tone-${tone}`}>{children}</dd>
    </div>
  )
}

export function Figures({ children }: { readonly children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>
}

type FigureRow = Pick<FigureProps, 'label' | 'path' | 'tone'> & {
  readonly value: ComponentChildren
}

type FigureListProps = Pick<FigureProps, 'analysis'> & { readonly rows: readonly FigureRow[] }

/** Values of one answer with their labels. */
export function FigureList({ analysis, rows }: FigureListProps) {
  return (
    <Figures>
      {rows.map(({ label, path, value, tone = 'plain' }) => (
        <Figure key={label} label={label} analysis={analysis} path={path} tone={tone}>
          {value}
        </Figure>
      ))}
    </Figures>
  )
}

export function toneOf(value: number | null | undefined): Tone {
  if (value == null || value === 0) return 'plain'
  return value > 0 ? 'up' : 'down'
}
