import { createHash } from 'node:crypto'
import { BoundedMap } from '../domain/bounded-map.ts'

/** Of one admin port: every browser and every sign-in is one. */
const SESSIONS_MAX = 64
export const SESSION_MS = 12 * 3_600_000

type Session = {
  /** `Host` of the sign-in. */
  readonly host: string
  readonly endsAtMs: number
}

/**
 * Sessions of browsers that have presented the admin token. A session has a random name, of which only the digest is
 * kept, so that neither the name nor the token is in memory. All end with the process.
 */
export class AdminSessions {
  readonly #byDigest = new BoundedMap<string, Session>(SESSIONS_MAX)
  readonly #newSecret: () => string

  /** @param newSecret 256 random bits as text */
  constructor(newSecret: () => string) {
    this.#newSecret = newSecret
  }

  /** @returns the name of a new session */
  begin(host: string, nowMs: number): string {
    const name = this.#newSecret()
    this.#byDigest.set(digestOf(name), { host, endsAtMs: nowMs + SESSION_MS })
    return name
  }

  /** Whether the session exists and was begun under this `Host`. */
  isValid(name: string, host: string, nowMs: number): boolean {
    const session = this.#byDigest.get(digestOf(name))
    if (session === undefined || session.host !== host) return false
    // A clock that was set back does not extend a session.
    return nowMs < session.endsAtMs && nowMs >= session.endsAtMs - SESSION_MS
  }

  end(name: string): void {
    this.#byDigest.delete(digestOf(name))
  }
}

/** A look-up by digest reveals nothing about the names by its duration. */
function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('hex')
}
