import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { FreeDocument } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import { SERVICE_NAME } from './service-facts.ts'

export type DocsPageOptions = {
  readonly publicUrl: string
  /** The published OpenAPI document. JSON is YAML too. */
  readonly openApi: () => FreeDocument
  /** The script that shows it; without it the page has links alone. */
  readonly docsViewer?: Buffer | undefined
}

/**
 * `/docs`: the published OpenAPI document as a page, served from here without any other host. Scripts come from
 * files alone; the viewer writes styles into its elements, so those are allowed.
 */
export function docsPage(
  app: FastifyInstance,
  { publicUrl, openApi, docsViewer = Buffer.of() }: DocsPageOptions,
): void {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    // Trying a call out goes to where callers reach the service.
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const script = freeDocument('text/javascript; charset=utf-8', docsViewer)
  // Named by its content, so that a page never runs with the script of another version.
  const scriptPath = `/docs/viewer-${createHash('sha256').update(script.bytes).digest('hex').slice(0, 12)}.js`
  const page = freeDocument('text/html; charset=utf-8', pageText(scriptPath))
  app.get('/docs', (request, reply) => {
    void reply.header('content-security-policy', policy)
    sendDocument(request, reply, page)
  })
  app.get(scriptPath, (request, reply) => sendDocument(request, reply, script))
  for (const path of ['/docs/json', '/docs/yaml'])
    app.get(path, (request, reply) => sendDocument(request, reply, openApi()))
}

function pageText(scriptPath: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${SERVICE_NAME}: interface</title>
<link rel="icon" href="/favicon.svg">
<script type="module" src="${scriptPath}"></script>
</head>
<body style="margin:0">
<openapi-explorer spec-url="/openapi-full.json" hide-server-selection="true" hide-authentication="true">
<noscript>The interface is described in <a href="/openapi.json">/openapi.json</a> and <a href="/llms-full.txt">/llms-full.txt</a>.</noscript>
</openapi-explorer>
</body>
</html>
`
}
