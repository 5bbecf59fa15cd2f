/** Where the position of the switch outlives the process; writing may throw. */
export type MaintenanceMemory = { read(): boolean; write(isOn: boolean): void }

/**
 * The kill switch. While it is on, everything that costs money is refused before any other check. A
 * service that restarts by itself must not start to sell again on its own.
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

  /** When it took its present position. */
  get sinceMs(): number {
    return this.#sinceMs
  }

  /** @returns whether that changed anything. */
  set(on: boolean, nowMs: number): boolean {
    if (on === this.#isOn) return false
    this.#memory?.write(on)
    this.#isOn = on
    this.#sinceMs = nowMs
    return true
  }
}
