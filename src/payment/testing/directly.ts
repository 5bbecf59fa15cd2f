import type { AskNode } from '../payment.ts'

/** Puts every question at once, for whom nothing has to be admitted. */
export const directly: AskNode = (question) => question()
