/** A map that forgets what was set longest ago when it is full. */
export class BoundedMap<Value> {
  readonly #values = new Map<string, Value>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.#values.delete(key)
    const oldest = this.#values.size < this.#sizeMax ? undefined : this.#values.keys().next().value
    if (oldest !== undefined) this.#values.delete(oldest)
    this.#values.set(key, value)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }
}
