import { isRecord } from '../../domain/json.ts'

type Bounds = { readonly min: number; readonly max: number }

/**
 * The members of a hand-written object, checked as they are read. Every method throws
 * what `bad` makes of the problem.
 */
export class JsonMembers {
  readonly #values: Readonly<Record<string, unknown>>
  readonly #bad: (problem: string) => Error
  /** Names that were asked for. */
  readonly #asked = new Set<string>()

  constructor(values: Readonly<Record<string, unknown>>, bad: (problem: string) => Error) {
    this.#values = values
    this.#bad = bad
  }

  has(name: string): boolean {
    this.#asked.add(name)
    return this.#values[name] !== undefined
  }

  number(name: string, { min, max }: Bounds): number {
    const value = this.#take(name)
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw this.#refusal(name, `a number from ${min} to ${max}`)
  }

  integer(name: string, bounds: Bounds): number {
    const value = this.number(name, bounds)
    if (Number.isInteger(value)) return value
    throw this.#refusal(name, `a whole number from ${bounds.min} to ${bounds.max}`)
  }

  /** @param allowed What such texts are, for people. */
  text(name: string, pattern: RegExp, allowed: string): string {
    const value = this.#take(name)
    if (typeof value === 'string' && pattern.test(value)) return value
    throw this.#refusal(name, allowed)
  }

  oneOf<Value extends string | number>(name: string, allowed: readonly Value[]): Value {
    const value = this.#take(name)
    const found = allowed.find((candidate) => candidate === value)
    if (found !== undefined) return found
    throw this.#refusal(name, `one of ${allowed.join(', ')}`)
  }

  listOf<Value extends string>(name: string, allowed: readonly Value[]): readonly Value[] {
    const value = this.#take(name)
    if (Array.isArray(value) && value.length > 0) {
      const found = allowed.filter((candidate) => value.includes(candidate))
      if (found.length === value.length) return found
    }
    throw this.#refusal(name, `a list of some of ${allowed.join(', ')}`)
  }

  members(name: string): JsonMembers {
    const value = this.#take(name)
    if (isRecord(value))
      return new JsonMembers(value, (problem) => this.#bad(`${name}: ${problem}`))
    throw this.#refusal(name, 'an object')
  }

  /** A member that was not read is misspelt. */
  checkNoOthers(): void {
    for (const name of Object.keys(this.#values)) {
      if (this.#asked.has(name)) continue
      throw this.#bad(`unknown member "${name}"; allowed here: ${[...this.#asked].join(', ')}`)
    }
  }

  #take(name: string): unknown {
    this.#asked.add(name)
    return this.#values[name]
  }

  #refusal(name: string, allowed: string): Error {
    const value = this.#values[name]
    const found = value === undefined ? 'it is missing' : `it is ${JSON.stringify(value)}`
    return this.#bad(`${name} must be ${allowed}; ${found}`)
  }
}
