/** A map that forgets what was set longest ago when it is full. */
export class BoundedMap<Key, Value> {
  readonly #values = new Map<Key, Value>()
  /** Goes on where it was: from the beginning it would have to pass everything that was deleted. */
  readonly #oldestFirst = this.#values.keys()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key)
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key)
    if (this.#values.size >= this.#sizeMax) this.#forgetOldest()
    this.#values.set(key, value)
  }

  delete(key: Key): void {
    this.#values.delete(key)
  }

  #forgetOldest(): void {
    const { value: oldest, done } = this.#oldestFirst.next()
    if (done !== true) this.#values.delete(oldest)
  }
}
