/** The kill switch. While it is on, everything that costs money is refused before any other check. */
export class MaintenanceSwitch {
  #isOn = false
  #sinceMs: number

  constructor(nowMs: number) {
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
    this.#isOn = on
    this.#sinceMs = nowMs
    return true
  }
}
