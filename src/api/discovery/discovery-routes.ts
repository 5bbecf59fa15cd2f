import type { FastifyInstance } from 'fastify'
import { keyOf } from '../../domain/contract.ts'
import { viewOf } from '../../domain/document.ts'
import type { EngineReader } from '../../link/engine-replica.ts'
import type { FreeDocument } from '../send-document.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import { sendProblem } from '../send-problem.ts'
import { refuseParameters } from '../unknown-parameter.ts'
import { agentCard } from './agent-card.ts'
import { docsPage } from './docs-page.ts'
import { ERROR_PAGE_POLICY, errorPage } from './error-page.ts'
import { llmsFullText, llmsText } from './llms-text.ts'
import { openApi } from './openapi.ts'
import type { Available } from './payment-manifest.ts'
import { paymentManifest, priceList } from './payment-manifest.ts'
import { sampleOf } from './samples.ts'
import type { DocumentFacts, ServiceFacts } from './service-facts.ts'

export type DiscoveryOptions = ServiceFacts & {
  readonly engine: EngineReader
  /** Stands in every path that is about one coin; another one while this is not listed. */
  readonly exampleCoin: string
}

const JSON_TYPE = 'application/json; charset=utf-8'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const ERROR_PAGE = '/docs/errors'

type Writer = (facts: DocumentFacts, isAvailable: Available) => string

const json =
  (write: (facts: DocumentFacts, isAvailable: Available) => unknown): Writer =>
  (facts, isAvailable) =>
    JSON.stringify(write(facts, isAvailable))

const documents: Readonly<Record<string, readonly [mediaType: string, Writer]>> = {
  '/openapi.json': [JSON_TYPE, json(openApi)],
  '/.well-known/agent-card.json': [JSON_TYPE, json(agentCard)],
  '/.well-known/x402': [JSON_TYPE, json(paymentManifest)],
  '/.well-known/x402.json': [JSON_TYPE, json(paymentManifest)],
  '/pricing': [JSON_TYPE, json(priceList)],
  '/llms.txt': [TEXT_TYPE, llmsText],
  '/llms-full.txt': [TEXT_TYPE, llmsFullText],
  '/robots.txt': [TEXT_TYPE, robotsText],
  '/favicon.svg': ['image/svg+xml', () => FAVICON],
  [ERROR_PAGE]: ['text/html; charset=utf-8', errorPage],
}

/** The paths of all documents that say what this service is. */
export const discoveryPaths: readonly string[] = [...Object.keys(documents), '/docs']

/** Everything by which somebody who knows nothing but our address finds out the rest, all of it for free. */
export function discoveryRoutes(app: FastifyInstance, options: DiscoveryOptions): void {
  const published = publisher(options)
  for (const path of Object.keys(documents))
    app.get(path, (request, reply) => {
      if (path === ERROR_PAGE) void reply.header('content-security-policy', ERROR_PAGE_POLICY)
      sendDocument(request, reply, published(path))
    })

  const samples = new Map(
    options.contracts.map(({ id }) => [id, freeDocument(JSON_TYPE, JSON.stringify(sampleOf(id)))]),
  )
  app.get('/sample/:analysis', { onRequest: refuseParameters }, (request, reply) => {
    const { analysis } = request.params as { readonly analysis: string }
    const sample = samples.get(analysis)
    if (sample !== undefined) sendDocument(request, reply, sample)
    else
      sendProblem(reply, 'not_found', {
        detail: 'There is no analysis of that name.',
        param: 'analysis',
        allowed: [...samples.keys()],
      })
  })

  void app.register(docsPage, {
    publicUrl: options.publicUrl,
    openApi: () => published('/openapi.json'),
  })
}

/** Documents as they are now. They are written again when what they name has changed, and not before. */
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

/** What was never rendered may yet come; what was rendered without an answer cannot be sold now. */
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
    `# For language models: ${publicUrl}/llms.txt`,
    `# For programs: ${publicUrl}/openapi.json`,
    '',
  ].join('\n')
}

const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="6" fill="#123"/>' +
  '<path d="M5 20l6-6 5 5 6-9 5 6" fill="none" stroke="#6fc" stroke-width="3"/></svg>'
