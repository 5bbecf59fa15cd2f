import type { IncomingMessage } from 'node:http'
import Negotiator from 'negotiator'

const OFFERED = ['application/json', 'text/html']

/** Whether a caller is a browser that opens a page. Agents, which accept everything or JSON, get JSON. */
export function prefersPage(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaTypes(OFFERED)[0] === 'text/html'
}
