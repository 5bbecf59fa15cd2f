import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
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

  /** @throws if the folder cannot be written; the mode has not changed then */
  write(isOn: boolean): void {
    if (!isOn) {
      rmSync(this.#path, { force: true })
      return
    }
    mkdirSync(dirname(this.#path), { recursive: true })
    writeFileSync(this.#path, 'perpscope maintenance off ends it\n')
  }
}
