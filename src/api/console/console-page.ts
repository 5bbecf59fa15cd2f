import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FreeDocument, PackedContent } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import { prefersPage } from './prefers-page.ts'

/** A built file. The name of every file but the page contains a hash of its content. */
export type ConsoleFile = PackedContent & { readonly name: string; readonly mediaType: string }

export type ConsoleFiles = { readonly page: ConsoleFile; readonly others: readonly ConsoleFile[] }

/** Where the files are served; `build.ts` writes links to it. */
export const CONSOLE_PATH = '/console'

const HASHED_FILE_AGE = 'public, max-age=31536000, immutable'

/** No inline script or style, and nothing from another host. Charts draw their icons from `data:`. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** The page of the console, which browsers get where other callers get JSON. */
export class ConsolePage {
  readonly #page: FreeDocument
  readonly #files: readonly (readonly [string, FreeDocument])[]

  constructor({ page, others }: ConsoleFiles) {
    this.#page = freeDocument(page.mediaType, page)
    this.#files = others.map((file) => [file.name, freeDocument(file.mediaType, file)])
  }

  /** Adds the routes of the files, which the sign-in page of the admin port needs too. */
  routes(app: FastifyInstance): void {
    for (const [name, file] of this.#files)
      app.get(`${CONSOLE_PATH}/${name}`, { config: { isOpen: true } }, (request, reply) =>
        sendDocument(request, reply, file, { cacheControl: HASHED_FILE_AGE }),
      )
  }

  /** Sends the page if the caller prefers one. @returns whether it did */
  sendIfPreferred(request: FastifyRequest, reply: FastifyReply): boolean {
    if (!prefersPage(request.raw)) return false
    void reply.headers(pageHeaders)
    sendDocument(request, reply, this.#page, { cacheControl: 'no-cache', vary: 'Accept' })
    return true
  }

  /** The body and the headers of a refusal or a quote that a browser has opened. */
  inPlaceOfRefusal(reply: FastifyReply): Buffer {
    void reply.type(this.#page.mediaType).headers(pageHeaders)
    return this.#page.bytes()
  }
}

const pageHeaders = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const
