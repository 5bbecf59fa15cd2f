import type { CheckStep } from './check-answer.ts'

/** Apart from the checks, whose code a page loads when it is needed. */
export const checkTitles: Readonly<Record<CheckStep['id'], string>> = {
  signature: 'Signature',
  payment: 'Payment',
  call: 'Call',
  content: 'Content',
  inclusion: 'Inclusion',
  recomputed: 'Computed again',
}

export type CheckVerdict = 'verified' | 'incomplete' | 'contradicted'

/** Of all steps. A sale whose hour has not ended is no less verified: its proof only comes later. */
export function verdictOf(steps: readonly CheckStep[]): CheckVerdict {
  if (steps.some(({ verdict }) => verdict === 'fails')) return 'contradicted'
  const isWhole = steps.every(({ id, verdict }) => verdict === 'holds' || id === 'inclusion')
  return isWhole ? 'verified' : 'incomplete'
}
