/** A map that evicts the oldest entry when it is full. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    super()
    this.#sizeMax = sizeMax
  }

  override set(key: Key, value: Value): this {
    this.delete(key)
    // A new iterator each time: a long-lived one would retain old hash tables.
    const oldest = this.size < this.#sizeMax ? undefined : this.keys().next().value
    if (oldest !== undefined) this.delete(oldest)
    return super.set(key, value)
  }
}
