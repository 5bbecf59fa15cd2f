import type { ComponentChildren } from 'preact'
import type { Tone } from '../../components/figure.tsx'

type FactProps = {
  readonly label: string
  readonly tone?: Tone
  readonly children: ComponentChildren
}

/** One value of a report with its label; inside {@link Figures}. */
export function Fact({ label, tone = 'plain', children }: FactProps) {
  return (
    <div class="figure">
      <dt>{label}</dt>
      <dd class={`tone-${tone}`}>{children}</dd>
    </div>
  )
}
