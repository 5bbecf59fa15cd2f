import { randomBytes } from 'node:crypto'

/** As `serve` makes them. */
export function newSecret(): string {
  return randomBytes(16).toString('base64url')
}
