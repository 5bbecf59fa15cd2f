import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { FreeDocument, PackedContent } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import { SERVICE_NAME } from './service-facts.ts'

export type DocsPageOptions = {
  readonly publicUrl: string
  /** The OpenAPI document; JSON is valid YAML. */
  readonly openApi: () => FreeDocument
  /** The viewer's script; without it the page has links only. */
  readonly docsViewer?: PackedContent | undefined
}

const NO_VIEWER: PackedContent = { bytes: () => Buffer.of(), coded: {} }

/** `/docs`: the OpenAPI document as a page that loads nothing from other hosts. The viewer needs inline styles. */
export function docsPage(
  app: FastifyInstance,
  { publicUrl, openApi, docsViewer = NO_VIEWER }: DocsPageOptions,
): void {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    // For calls that a reader tries out.
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
  const script = freeDocument('text/javascript; charset=utf-8', docsViewer)
  // The name contains a hash, so that a page never loads the script of another version.
  const scriptPath = `/docs/viewer-${createHash('sha256').update(script.bytes()).digest('hex').slice(0, 12)}.js`
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
<title>${SERVICE_NAME} API</title>
<link rel="icon" href="/favicon.svg">
<script type="module" src="${scriptPath}"></script>
</head>
<body style="margin:0">
<openapi-explorer spec-url="/openapi-full.json" hide-server-selection="true" hide-authentication="true">
<noscript>The API is described in <a href="/openapi.json">/openapi.json</a> and <a href="/llms-full.txt">/llms-full.txt</a>.</noscript>
</openapi-explorer>
</body>
</html>
`
}
