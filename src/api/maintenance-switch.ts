/** Persists the switch across restarts; `write` may throw. */
export type MaintenanceMemory = { read(): boolean; write(isOn: boolean): void }

/**
 * The kill switch: while it is on, all paid calls are refused before any other check. It is persisted, so that a
 * restart does not resume sales.
 */
export class MaintenanceSwitch {
  readonly #memory: MaintenanceMemory | null
  #isOn: boolean
  #sinceMs: number

  constructor(nowMs: number, memory: MaintenanceMemory | null = null) {
    this.#memory = memory
    this.#isOn = memory?.read() ?? false
    this.#sinceMs = nowMs
  }

  get isOn(): boolean {
    return this.#isOn
  }

  get sinceMs(): number {
    return this.#sinceMs
  }

  /** @returns whether the state changed */
  set(on: boolean, nowMs: number): boolean {
    if (on === this.#isOn) return false
    this.#memory?.write(on)
    this.#isOn = on
    this.#sinceMs = nowMs
    return true
  }
}
