import type { ListenOptions } from '../../config/serve.ts'

/** The base of the URLs in quotes, without a trailing slash. */
export function publicUrlOf({ publicUrl, host, port }: ListenOptions): string {
  return publicUrl ?? `http://${hostInUrl(host)}:${port}`
}

export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
