import type { Stats } from 'node:fs'
import { lstatSync, statSync } from 'node:fs'
import { isAbsence } from '../domain/errors.ts'

/**
 * ENOENT alone means that a file is absent. Node's `throwIfNoEntry: false` also hides ENOTDIR from version 22 on,
 * so a path through a file would read as absent instead of misplaced.
 */

/** Follows a link; undefined for an absent file. @throws if it cannot be examined */
export function statPresent(path: string): Stats | undefined {
  return presentOnly(() => statSync(path))
}

/** Does not follow a link; undefined for an absent name. @throws if it cannot be examined */
export function lstatPresent(path: string): Stats | undefined {
  return presentOnly(() => lstatSync(path))
}

function presentOnly<Found>(stat: () => Found): Found | undefined {
  try {
    return stat()
  } catch (cause) {
    if (isAbsence(cause)) return undefined
    throw cause
  }
}
