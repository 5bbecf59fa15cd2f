/** A map that evicts the oldest entry when it is full. */
export class BoundedMap<Key, Value> {
  readonly #values = new Map<Key, Value>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: Key): Value | undefined {
    return this.#values.get(key)
  }

  values(): IterableIterator<Value> {
    return this.#values.values()
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key)
    // A new iterator each time: a long-lived one would retain old hash tables.
    const oldest = this.#values.size < this.#sizeMax ? undefined : this.#values.keys().next().value
    if (oldest !== undefined) this.#values.delete(oldest)
    this.#values.set(key, value)
  }

  delete(key: Key): void {
    this.#values.delete(key)
  }
}
