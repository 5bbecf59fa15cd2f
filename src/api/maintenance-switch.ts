/** Whether all paid calls are refused, and since when. */
export interface MaintenanceState {
  readonly isOn: boolean
  readonly sinceMs: number
}

/** Maintenance mode of this service, or of all gateways that share a ledger. */
export interface Maintenance extends MaintenanceState {
  /** @returns whether the state changed. @throws OperatingError if it cannot be stored */
  set(on: boolean, nowMs: number): boolean | Promise<boolean>
}

/** Persists the switch across restarts; `write` may throw. */
export type MaintenanceStorage = { read(): boolean; write(isOn: boolean): void }

/**
 * The kill switch: while it is on, all paid calls are refused before any other check. It is persisted, so that a
 * restart does not resume sales.
 */
export class MaintenanceSwitch implements Maintenance {
  readonly #storage: MaintenanceStorage | null
  #isOn: boolean
  #sinceMs: number

  /** @param sinceMs start of the present state */
  constructor(sinceMs: number, storage: MaintenanceStorage | null = null) {
    this.#storage = storage
    this.#isOn = storage?.read() ?? false
    this.#sinceMs = sinceMs
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
    this.#storage?.write(on)
    this.#isOn = on
    this.#sinceMs = nowMs
    return true
  }
}
