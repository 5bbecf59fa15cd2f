import { readFileSync } from 'node:fs'
import { TOKEN_CHARS_MAX } from '../api/admin-access.ts'
import { ConfigError } from '../config/config-error.ts'
import type { AdminOptions } from '../config/option.ts'
import { reasonOf } from '../domain/errors.ts'

const TOKEN_CHARS_MIN = 32

/** null without `--admin-token-file`. @throws ConfigError if the file is unreadable or its token too short */
export function adminTokenOf({ adminTokenFile }: AdminOptions): string | null {
  if (adminTokenFile === undefined) return null
  let token: string
  try {
    token = readFileSync(adminTokenFile, 'utf8').trim()
  } catch (cause) {
    throw new ConfigError(`--admin-token-file cannot be read: ${reasonOf(cause)}`)
  }
  if (!/^\S+$/.test(token) || token.length < TOKEN_CHARS_MIN)
    throw new ConfigError(
      `--admin-token-file ${adminTokenFile} needs one token of ${TOKEN_CHARS_MIN} characters or more without spaces, for example from: openssl rand -hex 32`,
    )
  if (token.length > TOKEN_CHARS_MAX)
    throw new ConfigError(
      `--admin-token-file ${adminTokenFile} has a token of more than ${TOKEN_CHARS_MAX} characters`,
    )
  return token
}
