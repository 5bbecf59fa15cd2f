import { connect } from 'node:tls'

const TIMEOUT_MS = 10_000
const HTTPS_PORT = 443

/** End of the certificate of an https URL, Unix ms; null for http, and if it cannot be read. */
export function certificateEnd(url: string): Promise<number | null> {
  const { protocol, hostname: host, port } = new URL(url)
  if (protocol !== 'https:') return Promise.resolve(null)
  return new Promise((resolve) => {
    // An expired certificate has an end as well, so it is read without verification; nothing is sent.
    const options = { host, servername: host, rejectUnauthorized: false, timeout: TIMEOUT_MS }
    const socket = connect({ ...options, port: Number(port) || HTTPS_PORT }, () => {
      const endMs = Date.parse(socket.getPeerCertificate().valid_to)
      socket.destroy()
      resolve(Number.isNaN(endMs) ? null : endMs)
    })
    socket.on('timeout', () => socket.destroy())
    socket.on('error', () => resolve(null))
    socket.on('close', () => resolve(null))
  })
}
