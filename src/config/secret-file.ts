import { readFileSync, statSync } from 'node:fs'
import { reasonOf } from '../domain/errors.ts'
import { ConfigError } from './config-error.ts'

const SECRET_BYTES_MAX = 65_536

/**
 * Reads a secret that a container engine or an init system has put into a file: one line, around which space is ignored.
 * @throws ConfigError without the content
 */
export function readSecret(path: string): string {
  let text: string
  try {
    const file = statSync(path)
    // A pipe could be read only once, and serve starts itself twice.
    if (!file.isFile()) throw new ConfigError(`${path} is not a regular file`)
    if (file.size > SECRET_BYTES_MAX) throw new ConfigError(`${path} is too large for a secret`)
    text = readFileSync(path, 'utf8').trim()
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause
    throw new ConfigError(`${path === '' ? 'the path' : path} cannot be read: ${reasonOf(cause)}`)
  }
  if (text === '') throw new ConfigError(`${path} is empty`)
  if (/[\r\n]/.test(text)) throw new ConfigError(`${path} has more than one line`)
  return text
}
