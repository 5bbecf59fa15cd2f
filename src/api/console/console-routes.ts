import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ConsoleFacts, ConsoleOffer } from '../../domain/console-protocol.ts'
import type { AnalysisContract } from '../../domain/contract.ts'
import { pathOf, pathTemplateOf } from '../../domain/contract.ts'
import { usdcDecimal } from '../../domain/usdc.ts'
import { SVG_ICON } from '../discovery/icons.ts'
import type { ServiceFacts } from '../discovery/service-facts.ts'
import { freeDocument, sendDocument } from '../send-document.ts'
import type { ConsolePage } from './console-page.ts'
import { CONSOLE_PATH } from './console-page.ts'
import { definitions } from './definitions.ts'
import type { ShownNames } from './delayed-documents.ts'
import { DelayedDocuments, SAMPLE_DELAY_MS } from './delayed-documents.ts'
import type { LiveDocumentsOptions } from './live-documents.ts'
import { LiveDocuments } from './live-documents.ts'
import type { LiveSource } from './live-source.ts'
import type { LiveStreamOptions } from './live-stream.ts'
import { liveStream } from './live-stream.ts'
import { qualityNow } from './quality-now.ts'

export type ConsoleOptions = LiveDocumentsOptions & {
  readonly page: ConsolePage
  readonly facts: Pick<ServiceFacts, 'version' | 'waysToPay' | 'receiptSigner' | 'hasProofs'>
}

/** The console of the public port: one coin, a minute late, and what is free. */
export function publicConsole(
  app: FastifyInstance,
  options: ConsoleOptions & { readonly sampleCoin: string },
): void {
  const { sampleCoin, clock } = options
  const delayed = new DelayedDocuments(new LiveDocuments(options), namesOf(options), clock)
  const stop = delayed.start()
  app.addHook('onClose', (_app, done) => {
    stop()
    done()
  })
  const quality = qualityNow(options)
  app.get(`${CONSOLE_PATH}/quality.json`, (_request, reply) =>
    reply.header('cache-control', 'no-store').send(quality()),
  )
  const sample = { coin: sampleCoin, delaySeconds: SAMPLE_DELAY_MS / 1_000 }
  consoleRoutes(app, options, { source: delayed, port: 'public', sample })
}

/** The console of the admin port: every document, and what `more` adds. */
export function adminConsole(
  app: FastifyInstance,
  options: ConsoleOptions & {
    readonly more: LiveSource
    readonly isGranted: (request: FastifyRequest) => boolean
  },
): void {
  const documents = new LiveDocuments(options)
  const source: LiveSource = {
    open: (name) => (name.startsWith('/desk/') ? options.more.open(name) : documents.open(name)),
  }
  consoleRoutes(app, options, {
    ...{ source, port: 'admin', sample: null, isGranted: options.isGranted },
  })
  const icon = freeDocument('image/svg+xml', SVG_ICON)
  app.get('/favicon.svg', { config: { isOpen: true } }, (request, reply) =>
    sendDocument(request, reply, icon),
  )
}

type Audience = Pick<ConsoleFacts, 'port' | 'sample'> &
  Pick<LiveStreamOptions, 'source' | 'isGranted'>

function consoleRoutes(
  app: FastifyInstance,
  options: ConsoleOptions,
  { port, sample, ...audience }: Audience,
): void {
  const { page, contracts, engine, clock } = options
  page.routes(app)
  liveStream(app, { ...audience, engine, clock })
  const offers = contracts.map(consoleOffer)
  const { version, waysToPay, receiptSigner = null, hasProofs = false } = options.facts
  app.get(`${CONSOLE_PATH}/service.json`, (_request, reply) => {
    const facts: ConsoleFacts = {
      ...{ version, port, sample, offers, receiptSigner, hasProofs },
      payment: waysToPay.length === 0 ? 'free' : 'paid',
      waysToPay: waysToPay.map(({ scheme, network, asset, payTo }) => ({
        ...{ scheme, network, asset, payTo },
      })),
      coins: engine.coins(),
    }
    return reply.header('cache-control', 'no-store').send(facts)
  })
  const described = freeDocument(
    'application/json; charset=utf-8',
    JSON.stringify(definitions([...contracts, ...options.charts])),
  )
  app.get(`${CONSOLE_PATH}/definitions.json`, (request, reply) =>
    sendDocument(request, reply, described),
  )
}

/** All documents of the sample coin, the pulse on all timeframes as well, and the track record. */
function namesOf({
  contracts,
  charts,
  sampleCoin,
}: ConsoleOptions & { readonly sampleCoin: string }): ShownNames {
  // As a page writes the name of a coin of a builder-deployed dex.
  const coin = encodeURIComponent(sampleCoin)
  const ofCoin = [...contracts, ...charts].filter(({ scope }) => scope === 'coin')
  return {
    delayed: [
      ...ofCoin.map((described) => pathOf(described, coin)),
      `/pulse/${coin}?timeframes=15m,1h,4h`,
    ],
    free: ['/track-record'],
  }
}

function consoleOffer(contract: AnalysisContract): ConsoleOffer {
  const { id, scope, guide } = contract
  return {
    ...{ id, scope, path: pathTemplateOf(contract) },
    title: guide.title,
    useWhen: guide.useWhen,
    returns: guide.returns,
    priceUsdc: usdcDecimal(contract.priceUsdcAtomic),
  }
}
