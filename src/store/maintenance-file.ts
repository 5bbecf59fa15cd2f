import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatingError } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'

/** Maintenance mode is on while this file exists. */
export class MaintenanceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** @throws OperatingError if the file cannot be examined: a service must not sell then */
  read(): boolean {
    try {
      return statPresent(this.#path) !== undefined
    } catch (cause) {
      throw new OperatingError('maintenance_unreadable', `${this.#path} cannot be read`, { cause })
    }
  }

  /** @throws OperatingError if the folder cannot be written; the mode has not changed then */
  write(isOn: boolean): void {
    try {
      if (!isOn) {
        rmSync(this.#path, { force: true })
        return
      }
      mkdirSync(dirname(this.#path), { recursive: true })
      // Empty: on a full disk a file can be created, and its content cannot be written.
      closeSync(openSync(this.#path, 'a'))
    } catch (cause) {
      throw new OperatingError('maintenance_unwritable', `${this.#path} cannot be written`, {
        cause,
      })
    }
  }
}
