import { randomFillSync } from 'node:crypto'

/** In base64url these are the characters of `answer-access`. */
const SECRET_BYTES = 16
/** Requested at once: every request to the generator costs as much as the rest of a quote. */
const SECRETS_AT_ONCE = 256

/** @returns makes a secret of 128 random bits for each quote, in base64url */
export function quoteSecrets(): () => string {
  const random = Buffer.alloc(SECRET_BYTES * SECRETS_AT_ONCE)
  let used = random.length
  return () => {
    if (used === random.length) {
      randomFillSync(random)
      used = 0
    }
    used += SECRET_BYTES
    return random.toString('base64url', used - SECRET_BYTES, used)
  }
}
