/** Those that are kept: the very list where that is all of them, as it nearly always is. */
export function kept<T>(all: readonly T[], isKept: (one: T) => boolean): readonly T[] {
  let others: T[] | null = null
  for (let at = 0; at < all.length; at += 1) {
    const one = all[at] as T
    if (!isKept(one)) others ??= all.slice(0, at)
    else others?.push(one)
  }
  return others ?? all
}
