import { isIPv6 } from 'node:net'
import { request } from 'undici'
import type { AdminOptions } from '../config/option.ts'
import { adminTokenOf } from './admin-token.ts'

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
