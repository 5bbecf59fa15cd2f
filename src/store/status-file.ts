import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { isAbsence } from '../domain/errors.ts'

/** Larger than any that is written: 30 days, 200 incidents. */
const BYTES_MAX = 1_000_000

/** The history of the status page: one JSON document, replaced as a whole. */
export class StatusFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** @returns undefined for none. @throws if it cannot be read, or is no JSON */
  read(): unknown {
    let text: string
    try {
      text = readFileSync(this.#path, 'utf8')
    } catch (cause) {
      if (isAbsence(cause)) return undefined
      throw cause
    }
    if (text.length > BYTES_MAX) throw new RangeError(`${this.#path} is too large`)
    return JSON.parse(text)
  }

  /** A crash leaves the old document. @throws if the folder cannot be written */
  write(document: unknown): void {
    mkdirSync(dirname(this.#path), { recursive: true })
    writeFileSync(`${this.#path}.new`, JSON.stringify(document))
    renameSync(`${this.#path}.new`, this.#path)
  }
}
