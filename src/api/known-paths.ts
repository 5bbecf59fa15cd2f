/** Supported methods by path: tells 405 from 404. */
export class KnownPaths {
  readonly #methods = new Map<string, Set<string>>()
  readonly #patterns = new Map<string, RegExp>()

  /** @param path as declared: `:name` is one segment, `*` any suffix */
  add(path: string, methods: string | readonly string[]): void {
    const known = this.#methods.get(path) ?? new Set(['OPTIONS'])
    for (const method of typeof methods === 'string' ? [methods] : methods) known.add(method)
    this.#methods.set(path, known)
    this.#patterns.set(path, pattern(path))
  }

  /** @returns sorted; empty for an unknown path */
  methodsOf(path: string): readonly string[] {
    const found = new Set<string>()
    for (const [declared, known] of this.#methods) {
      if (this.#patterns.get(declared)?.test(path)) for (const method of known) found.add(method)
    }
    return [...found].sort()
  }
}

function pattern(path: string): RegExp {
  const segments = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/:[A-Za-z]\w*/g, '[^/]+')
    .replace(/\*/g, '.*')
  return new RegExp(`^${segments.replace(/\/$/, '')}/?$`)
}
