import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The kill switch on disk: maintenance is on as long as the file exists. */
export class MaintenanceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  read(): boolean {
    return existsSync(this.#path)
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
