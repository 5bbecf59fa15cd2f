import { fc } from '@fast-check/vitest'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { offerOf } from '../src/api/discovery/analysis-offer.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import { ENGINE_SILENCE_MS_MAX } from '../src/link/engine-replica.ts'
import { STORE_OK } from '../src/link/testing/store-ok.ts'
import { base } from '../src/payment/evm/networks.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { Json } from './support/answers.ts'
import type { DiscoveryGateway, StandingMarket } from './support/discovery-gateway.ts'
import { discoveryGateway, PAY_TO, standingMarket } from './support/discovery-gateway.ts'
import { OpenApiChecker } from './support/openapi-checker.ts'

/**
 * Random requests, validated against the published document: every response must conform to it.
 * `OPENAPI_REQUESTS` sets their number.
 */
const REQUESTS = Number(inheritedEnv()['OPENAPI_REQUESTS'] ?? 10_000)
const MINUTES = 60_000

type State = 'serving' | 'maintenance' | 'silent' | 'disconnected'
type Asked = {
  readonly mode: 'x402' | 'open' | 'limited'
  readonly state: State
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload?: string
}

let market: StandingMarket
let gateways: Readonly<Record<Asked['mode'], DiscoveryGateway>>
let checkers: Readonly<Record<Asked['mode'], OpenApiChecker>>
let document: Json
let payments: readonly string[]

beforeAll(async () => {
  market = standingMarket()
  gateways = {
    x402: discoveryGateway(market, 'x402'),
    open: discoveryGateway(market, 'open'),
    limited: discoveryGateway(market, 'x402', { quotesPerMinute: 3 }),
  }
  document = (await gateways.x402.app.inject('/openapi-full.json')).json()
  const free = (await gateways.open.app.inject('/openapi-full.json')).json()
  const sold = new OpenApiChecker(document)
  checkers = { x402: sold, limited: sold, open: new OpenApiChecker(free) }
  payments = await Promise.all(contracts.map(({ priceUsdcAtomic }) => payment(priceUsdcAtomic)))
})

afterAll(async () => {
  for (const gateway of Object.values(gateways ?? {})) await gateway.close()
})

test(
  `no answer to ${REQUESTS} random requests is outside the published document`,
  async () => {
    const statuses = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(requests(), async (asked) => {
        const response = await ask(asked)
        const key = `${asked.mode} ${response.statusCode}`
        statuses.set(key, (statuses.get(key) ?? 0) + 1)
        expect(wrongs(asked, response), words(asked, response)).toEqual([])
      }),
      { numRuns: REQUESTS },
    )
    console.log(Object.fromEntries([...statuses].sort()))
    // A run without an answer, a quote or a refusal would prove nothing.
    const kinds = ['x402 200', 'x402 402', 'x402 400', 'x402 503', 'open 200', 'limited 429']
    expect([...statuses.keys()]).toEqual(expect.arrayContaining(kinds))
  },
  10 * MINUTES,
)

test('a whole answer has the whole schema, a compact one the compact schema', async () => {
  const { app } = gateways.open
  for (const contract of contracts) {
    const offer = offerOf(contract, { exampleCoin: 'BTC' })
    const path = offer.path.replace('{coin}', 'BTC')
    const components = { whole: offer.outputSchema, compact: offer.compactSchema }
    const checker = new OpenApiChecker({ paths: {}, components })
    const whole = (await app.inject(path)).json()
    const compact = (await app.inject(`${path}?view=compact`)).json()
    expect(checker.schemaViolations('/components/whole', whole), path).toEqual([])
    expect(checker.schemaViolations('/components/compact', compact), path).toEqual([])
  }
})

test('a purchase that is read again and is still the newest is answered as documented', async () => {
  const { app } = gateways.x402
  for (const contract of contracts) {
    const url = offerOf(contract, { exampleCoin: 'BTC' }).path.replace('{coin}', 'BTC')
    const headers = { 'payment-signature': await payment(contract.priceUsdcAtomic) }
    const bought = await app.inject({ url, headers })
    const etag = String(bought.headers['etag'])
    const again = await app.inject({ url, headers: { ...headers, 'if-none-match': etag } })
    expect([bought.statusCode, again.statusCode], url).toEqual([200, 304])
    expect(again.headers, url).toHaveProperty('payment-response')
    expect(checkers.x402.violations('GET', url, again), url).toEqual([])
  }
})

/** The clock only moves to change the state of the service. */
async function ask(asked: Asked): Promise<LightMyRequestResponse> {
  const { app, clock, maintenance } = gateways[asked.mode]
  const { engine, nowMs } = market
  if (asked.state === 'disconnected') engine.disconnected()
  if (asked.state === 'maintenance') maintenance.set(true, nowMs)
  if (asked.state === 'silent') clock.advance(ENGINE_SILENCE_MS_MAX + 1)
  try {
    const { method, path, query, headers, payload } = asked
    const body = payload === undefined ? {} : { payload }
    return await app.inject({ method, url: path + query, headers, ...body })
  } finally {
    if (asked.state === 'silent') clock.putBack(ENGINE_SILENCE_MS_MAX + 1)
    maintenance.set(false, nowMs)
    if (asked.state === 'disconnected') speakAgain()
  }
}

/** All earlier messages of the engine. */
function speakAgain(): void {
  const { engine, nowMs } = market
  const feeds = [{ feed: 'venue', state: 'up', sinceMs: nowMs, reason: 'connected' } as const]
  const heartbeat = { startedAtMs: nowMs, feeds, sources: [], store: STORE_OK, counts: {} }
  engine.apply({ kind: 'heartbeat', heartbeat }, nowMs)
}

function wrongs({ mode, state, method, path, query }: Asked, response: LightMyRequestResponse) {
  const { statusCode } = response
  // A 500 is allowed only without an engine, never because of a request.
  const isFault = statusCode === 500 && state !== 'disconnected'
  const violations = checkers[mode].violations(method, path, response, query)
  return isFault ? ['500 while everything works', ...violations] : violations
}

function words(asked: Asked, response: LightMyRequestResponse): string {
  return `${JSON.stringify(asked)} → ${response.statusCode} ${response.body.slice(0, 300)}`
}

/** From the document itself: its paths, its parameters with what they allow, and what it says nothing of. */
function requests(): fc.Arbitrary<Asked> {
  // Made once for each path: to make them takes as long as to ask.
  const byPath = new Map(Object.keys(document.paths).map((path) => [path, requestsTo(path)]))
  return fc.constantFrom(...byPath.keys()).chain((path) => byPath.get(path) as fc.Arbitrary<Asked>)
}

function requestsTo(template: string): fc.Arbitrary<Asked> {
  if (document.paths[template].get === undefined) return messages(template)
  const { parameters: listed = [] } = document.paths[template].get
  const parameters = listed.map((one: Json) =>
    one.$ref ? document.components.parameters[one.$ref.split('/').at(-1)] : one,
  )
  return fc.record({
    mode: fc.constantFrom<Asked['mode']>('x402', 'x402', 'x402', 'open', 'limited'),
    state: mostly<State>('serving', 'maintenance', 'silent', 'disconnected'),
    method: mostly<Asked['method']>('GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH'),
    path: paths(template, parameters),
    query: queries(parameters.filter((one: Json) => one.in === 'query')),
    headers: callerHeaders(),
  })
}

/** A request to a path for messages. */
function messages(path: string): fc.Arbitrary<Asked> {
  const id = fc.constantFrom({}, { id: 1 }, { id: 'a' }, { id: null })
  const name = fc.constantFrom(
    ...contracts.map((contract) => `get_${contract.id}`),
    'list_coins',
    '',
  )
  const args = fc.constantFrom<object>(
    {},
    { coin: 'BTC' },
    { coin: '../x' },
    { coin: 7, top_n: 'x' },
  )
  const message = (text: string) => ({
    role: 'user',
    kind: 'message',
    messageId: 'm',
    parts: [{ kind: 'text', text }],
  })
  const call = fc.oneof(
    fc.record({ name, arguments: args }).map((params) => ({ method: 'tools/call', params })),
    fc.constantFrom<object>(
      { method: 'tools/list' },
      { method: 'ping', params: {} },
      { method: 'message/send', params: { message: message('pulse BTC') } },
      { method: 'message/send', params: { message: message('weather') } },
      { method: 'message/stream', params: { message: message('pulse BTC') } },
      { method: 'SendMessage', params: {} },
      { method: 'tasks/get', params: { id: 'none' } },
    ),
  )
  const rpc = fc.tuple(id, call).map(([of, what]) => ({ jsonrpc: '2.0', ...of, ...what }))
  const body = fc.oneof(
    { weight: 6, arbitrary: rpc.map((one) => JSON.stringify(one)) },
    { weight: 1, arbitrary: fc.array(rpc, { maxLength: 3 }).map((some) => JSON.stringify(some)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: oddText },
    { weight: 1, arbitrary: fc.constant('x'.repeat(70_000)) },
  )
  const media = mostly('application/json', 'text/plain', 'application/x-www-form-urlencoded')
  return fc.record({
    mode: fc.constantFrom<Asked['mode']>('x402', 'open', 'limited'),
    state: mostly<State>('serving', 'maintenance', 'silent', 'disconnected'),
    method: mostly<Asked['method']>('POST', 'GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'),
    path: fc.constantFrom(path, `${path}/`),
    query: fc.constantFrom('', '?view=compact'),
    headers: fc
      .tuple(
        media.map((type) => ({ 'content-type': type })),
        mostly('application/json, text/event-stream', 'application/json', '*/*', 'text/html').map(
          (accept) => ({ accept }),
        ),
        fc.constantFrom<Record<string, string>>(
          {},
          {},
          { 'a2a-version': '1.0' },
          { 'a2a-version': '9' },
        ),
        fc.constantFrom<Record<string, string>>({}, {}, { 'mcp-protocol-version': '1900-01-01' }),
      )
      .map((all) => Object.assign({}, ...all)),
    payload: body,
  })
}

function mostly<Value>(usual: Value, ...others: readonly Value[]): fc.Arbitrary<Value> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(usual) },
    { weight: 2, arbitrary: fc.constantFrom(...others) },
  )
}

const oddText = fc.oneof(
  fc.string({ maxLength: 80 }),
  // As `fc.string({ unit: 'binary' })`, which takes seconds to be made.
  fc
    .array(fc.integer({ min: 0, max: 0x10_ffff }), { maxLength: 12 })
    .map((points) => String.fromCodePoint(...points)),
  fc.constantFrom('', '{coin}', '%', 'constructor', '__proto__', '0', 'x'.repeat(65)),
)

function paths(template: string, parameters: Json): fc.Arbitrary<string> {
  const slash = template === '/' ? fc.constant('') : fc.constantFrom('', '', '', '/')
  const filled = parameters
    .filter((one: Json) => one.in === 'path')
    .reduce(
      (path: fc.Arbitrary<string>, parameter: Json) =>
        fc
          .tuple(path, pathValue(parameter))
          .map(([text, value]) => text.replace(`{${parameter.name}}`, () => value)),
      fc.constant(template) as fc.Arbitrary<string>,
    )
  return fc.tuple(filled as fc.Arbitrary<string>, slash).map(([path, end]) => path + end)
}

function pathValue({ name, schema }: Json): fc.Arbitrary<string> {
  const known =
    name === 'coin' || name === 'token'
      ? fc
          .tuple(fc.constantFrom(...market.engine.coins()), fc.constantFrom('', '-PERP', '-usd'))
          .chain(([coin, end]) => fc.constantFrom(coin + end, (coin + end).toLowerCase()))
      : fc.constantFrom<string>(...(schema.enum ?? ['confluence', 'zone', 'ab'.repeat(32)]))
  // An empty segment makes another path, and so do dots, which clients resolve.
  const odd = oddText.filter((text) => !/^\.{0,2}$/.test(text)).map(encoded)
  return fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 1, arbitrary: odd },
    { weight: 1, arbitrary: fc.constantFrom('%7Bcoin%7D', '{coin}', '{token}', 'NOPE', 'PURR') },
  )
}

function queries(parameters: readonly Json[]): fc.Arbitrary<string> {
  const members = parameters.map((parameter) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      { weight: 3, arbitrary: queryValue(parameter).map((value) => [pair(parameter.name, value)]) },
      { weight: 1, arbitrary: oddText.map((value) => [pair(parameter.name, value)]) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(queryValue(parameter), queryValue(parameter))
          .map((values) => values.map((value) => pair(parameter.name, value))),
      },
    ),
  )
  const unknown = fc.oneof(
    { weight: 5, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: oddText.map((value) => [pair('limit', value)]) },
  )
  return fc.tuple(...members, unknown).map((all) => {
    const pairs = all.flat()
    return pairs.length === 0 ? '' : `?${pairs.join('&')}`
  })
}

function queryValue({ name, schema, example }: Json): fc.Arbitrary<string> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum).map(String)
  if (schema.type === 'integer')
    return fc.integer({ min: schema.minimum, max: schema.maximum }).map(String)
  if (schema.pattern !== undefined) return fc.stringMatching(new RegExp(schema.pattern))
  if (name === 'fields')
    return fc
      .subarray(['coin', 'token', 'meta', 'meta.quality', 'meta.as_of', 'timestamp_iso', 'nothing'])
      .map((some) => some.join())
  return fc.constant(example ?? '1')
}

function callerHeaders(): fc.Arbitrary<Record<string, string>> {
  const payment = fc.oneof(
    { weight: 6, arbitrary: fc.constant<Record<string, string>>({}) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(...payments).map((value) => ({ 'payment-signature': value })),
    },
    { weight: 1, arbitrary: junk().map((value) => ({ 'x-payment': value })) },
    { weight: 1, arbitrary: junk().map((value) => ({ 'payment-signature': value })) },
  )
  const origin = fc.constantFrom<Record<string, string>>(
    {},
    {},
    { origin: 'https://wallet.example' },
  )
  const held = fc.constantFrom<Record<string, string>>(
    {},
    {},
    { 'if-none-match': '*' },
    { 'if-none-match': '"1-1h.4h"' },
  )
  return fc.tuple(payment, origin, held).map((all) => Object.assign({}, ...all))
}

function junk(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('%%%', 'e30=', 'bnVsbA==', 'W10=', ''),
    fc.base64String({ maxLength: 400 }),
    fc.json().map((text) => Buffer.from(text).toString('base64')),
    fc
      .record({ x402Version: fc.constantFrom(1, 2, 3), scheme: fc.string(), network: fc.string() })
      .map((value) => Buffer.from(JSON.stringify(value)).toString('base64')),
  )
}

function payment(amount: bigint): Promise<string> {
  const choices = { amount, payTo: PAY_TO as `0x${string}`, nowMs: market.nowMs, network: base }
  return signedPayload(newBuyer(), choices).then(encodedPayment)
}

function pair(name: string, value: string): string {
  return `${name}=${encoded(value)}`
}

/** Also of half a character, which has no encoding. */
function encoded(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'))
}
