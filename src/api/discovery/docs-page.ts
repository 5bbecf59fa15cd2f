import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifyPluginCallback } from 'fastify'
import type { FreeDocument } from '../send-document.ts'
import { sendDocument } from '../send-document.ts'

export type DocsPageOptions = {
  readonly publicUrl: string
  /** The published OpenAPI document. JSON is YAML too. */
  readonly openApi: () => FreeDocument
}

/**
 * `/docs`: the published OpenAPI document as a page, served from here without any other host. Scripts come from
 * files alone; the viewer writes styles into its elements, so those are allowed.
 */
export const docsPage: FastifyPluginCallback<DocsPageOptions> = (app, options, done) => {
  void app.register(noDocument)
  void app.register(swaggerUi, {
    routePrefix: '/docs',
    uiHooks: {
      // Instead of the viewer's own, which write the document anew for everybody.
      onRequest: (request, reply, next) => {
        if (/^\/docs\/(json|yaml)$/.test(request.routeOptions.url ?? ''))
          sendDocument(request, reply, options.openApi())
        else next()
      },
    },
    // Without the bar for other documents, and its maker's sign.
    uiConfig: { deepLinking: true, docExpansion: 'list', layout: 'BaseLayout' },
    staticCSP: [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self'",
      // Trying a call out goes to where callers reach the service.
      `connect-src 'self' ${new URL(options.publicUrl).origin}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  })
  done()
}

/** The viewer asks for a document that another plugin makes out of routes; ours is there already. */
const noDocument: FastifyPluginCallback = Object.assign(
  (app: FastifyInstance, _: unknown, done: () => void) => {
    app.decorate('swagger', () => ({}))
    done()
  },
  {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: '@fastify/swagger',
    [Symbol.for('plugin-meta')]: { name: '@fastify/swagger', fastify: '5.x' },
  },
)
