import type { Answer, Document } from '../domain/document.ts'
import { nearestNames } from '../domain/nearest-names.ts'
import { firstAbsent } from './answer-members.ts'
import type { Selection } from './answer-selection.ts'
import { shownPath } from './answer-selection.ts'
import type { SlotFacts } from './fill-document.ts'
import { answerMembers, slotNames } from './fill-document.ts'
import type { Refusal } from './send-problem.ts'
import { refusal } from './send-problem.ts'

/**
 * Refuses `fields` that name a key which a map of the answer lacks, or nothing that the answer has. An optional member
 * that is absent at the moment is left out of an answer with other selected members.
 */
export function absentFields(
  document: Document,
  answer: Answer,
  { conditional, hasCertain }: Selection,
  facts: SlotFacts,
): Refusal | null {
  if (conditional.length === 0) return null
  const members = answerMembers(document, answer)
  const namesOf = slotNames(document, answer, facts)
  const absent = conditional.flatMap(({ names: path, presence }) => {
    const found = firstAbsent(members, path, namesOf)
    return found === null ? [] : [{ ...found, path, isKey: presence[found.at] === 'key' }]
  })
  const isNothing = !hasCertain && absent.length === conditional.length
  const refused = absent.find(({ isKey }) => isKey) ?? (isNothing ? absent[0] : undefined)
  if (refused === undefined) return null
  const { at, names, path, isKey } = refused
  const above = path.slice(0, at)
  const shown = shownPath(path.join('.'))
  const rule =
    isKey || absent.length === 1
      ? `names ${shown}, which is not in the current answer`
      : `names only members that are not in the current answer, such as ${shown}`
  const remedy = isKey ? ` fields=${above.join('.')} selects all keys.` : ''
  return refusal('invalid_parameter', {
    detail: `fields ${rule}.${remedy}`,
    param: 'fields',
    // A client that repeats calls would wait long for a misspelt key.
    retryable: !isKey,
    allowed: names,
    didYouMean: nearestNames(path[at] ?? '', names).map((name) => [...above, name].join('.')),
  })
}
