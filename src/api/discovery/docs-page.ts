import swaggerUi from '@fastify/swagger-ui'
import type { FastifyPluginCallback } from 'fastify'

export type DocsPageOptions = {
  readonly publicUrl: string
  readonly openApi: () => unknown
}

/**
 * `/docs`: the published OpenAPI document as a page, served from here without any other host. Scripts come from
 * files alone; the viewer writes styles into its elements, so those are allowed.
 */
export const docsPage: FastifyPluginCallback<DocsPageOptions> = (app, options, done) => {
  void app.register(publisherOf(options.openApi))
  void app.register(swaggerUi, {
    routePrefix: '/docs',
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

/** The viewer asks the instance for its document; the usual plugin would make one out of routes. */
function publisherOf(openApi: () => unknown): FastifyPluginCallback {
  const publisher: FastifyPluginCallback = (app, _, done) => {
    // JSON is YAML too.
    app.decorate('swagger', (options?: { readonly yaml?: boolean }) =>
      options?.yaml === true ? JSON.stringify(openApi(), null, 2) : openApi(),
    )
    done()
  }
  return Object.assign(publisher, {
    [Symbol.for('skip-override')]: true,
    [Symbol.for('fastify.display-name')]: '@fastify/swagger',
    [Symbol.for('plugin-meta')]: { name: '@fastify/swagger', fastify: '5.x' },
  })
}
