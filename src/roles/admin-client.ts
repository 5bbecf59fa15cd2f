import { readFileSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import { request } from 'undici'
import { TOKEN_CHARS_MAX } from '../api/admin-access.ts'
import { ConfigError } from '../config/config-error.ts'
import type { AdminOptions } from '../config/option.ts'
import { reasonOf } from '../domain/errors.ts'

const TOKEN_CHARS_MIN = 32
const ANY_ADDRESS: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
])

/**
 * Sends a request to the admin port of a service on this machine.
 * @throws ConfigError if the token cannot be read; errors of the connection
 */
export async function adminRequest(
  options: AdminOptions,
  path: string,
  { msMax, body }: { readonly msMax: number; readonly body?: unknown },
): Promise<{ readonly status: number; readonly text: string }> {
  const token = adminTokenOf(options)
  const response = await request(`${adminUrl(options)}${path}`, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    headersTimeout: msMax,
    bodyTimeout: msMax,
  })
  return { status: response.statusCode, text: await response.body.text() }
}

export function adminUrl({ adminHost, adminPort }: AdminOptions): string {
  const host = ANY_ADDRESS.get(adminHost) ?? adminHost
  return `http://${isIPv6(host) ? `[${host}]` : host}:${adminPort}`
}

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
