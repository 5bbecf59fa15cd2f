import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatingError } from '../domain/errors.ts'
import { statPresent } from './present-file.ts'

/** The kill switch on disk: maintenance is on as long as the file exists. */
export class MaintenanceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** @throws OperatingError when nobody can tell: a service must not sell because it may not look. */
  read(): boolean {
    try {
      return statPresent(this.#path) !== undefined
    } catch (cause) {
      throw new OperatingError('maintenance_unreadable', `${this.#path} cannot be read`, { cause })
    }
  }

  /** @throws when the folder cannot be written; then the position has not changed. */
  write(isOn: boolean): void {
    if (!isOn) {
      rmSync(this.#path, { force: true })
      return
    }
    mkdirSync(dirname(this.#path), { recursive: true })
    writeFileSync(this.#path, 'perpscope maintenance off ends it\n')
  }
}
