import type { ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Answers } from '../../client/answers.ts'
import type { DocumentState } from './documents.ts'
import { documentState, follow } from './documents.ts'

/** The types of all answers, by analysis. */
export type AnswerOf<Id extends keyof Answers> = Answers[Id]

/**
 * A document that a view shows, followed while the view is on the page.
 * @param name path of its call, such as `/pulse/BTC?timeframes=1h`
 */
export function useDocument<Answer = unknown>(name: string): ReadonlySignal<DocumentState<Answer>> {
  useEffect(() => follow(name), [name])
  return documentState(name) as ReadonlySignal<DocumentState<Answer>>
}
