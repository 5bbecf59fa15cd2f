import type { CheckStep } from './check-answer.ts'

/** Apart from the checks, whose code a page loads when it is needed. */
export const checkTitles: Readonly<Record<CheckStep['id'], string>> = {
  signature: 'Signature',
  payment: 'Payment',
  call: 'Call',
  content: 'Content',
  inclusion: 'Inclusion',
  anchored: 'Anchor',
  recomputed: 'Computed again',
}

export type CheckVerdict = 'verified' | 'incomplete' | 'contradicted'

/** Steps whose proof only comes later: when the hour of a sale has ended, and when it is anchored. */
const LATER: ReadonlySet<CheckStep['id']> = new Set(['inclusion', 'anchored'])

export function verdictOf(steps: readonly CheckStep[]): CheckVerdict {
  if (steps.some(({ verdict }) => verdict === 'fails')) return 'contradicted'
  const isWhole =
    steps.some(({ verdict }) => verdict === 'holds') &&
    steps.every(({ id, verdict }) => verdict === 'holds' || LATER.has(id))
  return isWhole ? 'verified' : 'incomplete'
}
