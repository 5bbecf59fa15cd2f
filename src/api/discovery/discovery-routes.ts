import type { FastifyInstance } from 'fastify'
import { keyOf } from '../../domain/contract.ts'
import { viewOf } from '../../domain/document.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { FreeDocument } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import { agentCard } from './agent-card.ts'
import { docsPage } from './docs-page.ts'
import { ERROR_PAGE_POLICY, errorPage } from './error-page.ts'
import { PIXEL_ICON, SVG_ICON } from './icons.ts'
import { llmsFullText, llmsText } from './llms-text.ts'
import { openApi, openApiFull } from './openapi.ts'
import type { Available } from './payment-manifest.ts'
import { paymentManifest, priceList } from './payment-manifest.ts'
import { sampleRoutes } from './sample-routes.ts'
import type { DocumentFacts, ServiceFacts } from './service-facts.ts'

export type DiscoveryOptions = ServiceFacts & {
  readonly engine: EngineReader
  /** Coin in example paths; replaced by a listed one if it is not listed. */
  readonly exampleCoin: string
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const ERROR_PAGE = '/docs/errors'

type Writer = (facts: DocumentFacts, isAvailable: Available) => string | Buffer

const json =
  (write: (facts: DocumentFacts, isAvailable: Available) => unknown): Writer =>
  (facts, isAvailable) =>
    JSON.stringify(write(facts, isAvailable))

const documents: Readonly<Record<string, readonly [mediaType: string, Writer]>> = {
  '/openapi.json': [JSON_TYPE, json(openApi)],
  '/openapi-full.json': [JSON_TYPE, json(openApiFull)],
  '/.well-known/agent-card.json': [JSON_TYPE, json(agentCard)],
  '/.well-known/x402': [JSON_TYPE, json(paymentManifest)],
  '/.well-known/x402.json': [JSON_TYPE, json(paymentManifest)],
  '/pricing': [JSON_TYPE, json(priceList)],
  '/llms.txt': [TEXT_TYPE, llmsText],
  '/llms-full.txt': [TEXT_TYPE, llmsFullText],
  '/robots.txt': [TEXT_TYPE, robotsText],
  '/favicon.svg': ['image/svg+xml', () => SVG_ICON],
  '/favicon.ico': ['image/x-icon', () => PIXEL_ICON],
  [ERROR_PAGE]: ['text/html; charset=utf-8', errorPage],
}

/** Paths of all discovery documents. */
export const discoveryPaths: readonly string[] = [...Object.keys(documents), '/docs']

/** The free documents that describe the service, for callers that know only its address. */
export function discoveryRoutes(app: FastifyInstance, options: DiscoveryOptions): void {
  const published = publisher(options)
  for (const path of Object.keys(documents))
    app.get(path, (request, reply) => {
      if (path === ERROR_PAGE) void reply.header('content-security-policy', ERROR_PAGE_POLICY)
      sendDocument(request, reply, published(path))
    })

  sampleRoutes(app, options.contracts)

  docsPage(app, {
    publicUrl: options.publicUrl,
    openApi: () => published('/openapi.json'),
    docsViewer: options.docsViewer,
  })
}

/** Writes a document again only when its example coin or the available analyses have changed. */
function publisher(options: DiscoveryOptions): (path: string) => FreeDocument {
  const written = new Map<string, FreeDocument>()
  let writtenOf = ''
  return (path) => {
    const coin = exampleCoin(options)
    const available = availableOf(options, coin)
    const now = [coin, ...options.contracts.filter(available).map(({ id }) => id)].join()
    if (now !== writtenOf) written.clear()
    writtenOf = now
    const held = written.get(path)
    if (held !== undefined) return held
    const [mediaType, write] = documents[path] ?? [TEXT_TYPE, () => '']
    const fresh = freeDocument(mediaType, write({ ...options, exampleCoin: coin }, available))
    written.set(path, fresh)
    return fresh
  }
}

function exampleCoin({ engine, exampleCoin: usual }: DiscoveryOptions): string {
  return engine.resolve(usual)?.coin ?? engine.coins()[0] ?? usual
}

/** False for a document without an answer; one that is not rendered yet may still get one. */
function availableOf({ engine }: DiscoveryOptions, coin: string): Available {
  return (contract) => {
    const document = engine.document(keyOf(contract, coin))
    const view = document && viewOf(document, contract.defaultView)
    return view === undefined || view.kind === 'answer'
  }
}

function robotsText({ publicUrl }: DocumentFacts): string {
  return [
    'User-agent: *',
    'Allow: /',
    '',
    `# Language models: ${publicUrl}/llms.txt`,
    `# API description: ${publicUrl}/openapi.json`,
    '',
  ].join('\n')
}
