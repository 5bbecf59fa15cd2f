import type { Tone } from '../../components/figure.tsx'

const GOOD = new Set(['up', 'ok', 'on', 'available', 'done', 'enabled'])
const MIDDLING = new Set(['degraded', 'warn', 'silent', 'running', 'stopped', 'off', 'never'])

/** The tone of a state; what is neither good nor middling is bad. */
export function toneOfState(state: string): Tone {
  if (GOOD.has(state)) return 'up'
  return MIDDLING.has(state) ? 'warn' : 'down'
}

/** A state with the color of its meaning; the word alone is enough. */
export function StateWord({ state }: { readonly state: string }) {
  return <span class={`state tone-${toneOfState(state)}`}>{state}</span>
}
