import { AgentCard } from '@a2a-js/sdk'
import {
  checkEndpointSchema,
  checkL2ForOpenAPI,
  checkL4ForOpenAPI,
  getOpenAPI,
  getWarningsFor402Body,
  getWarningsForFavicon,
  getWarningsForL2,
  getWarningsForL3,
  getWarningsForL4,
  getWarningsForOpenAPI,
  isOpenApiParseFailure,
} from '@agentcash/discovery'
import { Validator } from '@seriousme/openapi-schema-validator'
import { validateDiscoveryExtension } from '@x402/extensions/bazaar'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { offerOf } from '../src/api/discovery/analysis-offer.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { pathOf, pathTemplateOf } from '../src/domain/contract.ts'
import type { Document } from '../src/domain/document.ts'
import { problemCodes } from '../src/domain/problem.ts'
import { usdcDecimal } from '../src/domain/usdc.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { Json } from './support/answers.ts'
import type { DiscoveryGateway, StandingMarket } from './support/discovery-gateway.ts'
import {
  discoveryGateway,
  PAY_TO,
  PUBLIC_URL,
  standingMarket,
} from './support/discovery-gateway.ts'
import { OpenApiChecker } from './support/openapi-checker.ts'
import { expectWithin, OPENAPI_BYTES_MAX } from './support/size-budgets.ts'
import { undeclaredMembers } from './support/undeclared-members.ts'

let market: StandingMarket
let sold: DiscoveryGateway
let given: DiscoveryGateway

beforeAll(() => {
  market = standingMarket()
  sold = discoveryGateway(market, 'x402')
  given = discoveryGateway(market, 'open')
})

afterAll(async () => {
  await sold?.close()
  await given?.close()
})

const fetched = async (path: string, from = sold): Promise<Json> =>
  (await from.app.inject(path)).json()
const offers = contracts.map((contract) => offerOf(contract, { exampleCoin: 'BTC' }))
const exampleUrl = (contract: (typeof contracts)[number]) => PUBLIC_URL + pathOf(contract, 'BTC')

/** Quote of an unpaid call in both versions. */
async function quoted(path: string): Promise<{ body: Json; header: Json; headerBytes: number }> {
  const response = await sold.app.inject(path)
  expect(response.statusCode, path).toBe(402)
  const header = String(response.headers['payment-required'])
  return {
    body: response.json(),
    header: JSON.parse(Buffer.from(header, 'base64').toString('utf8')),
    headerBytes: Buffer.byteLength(header),
  }
}

/** Of what is no answer. */
const otherSchemas = { Problem: 1, PaymentRequired: 1, Health: 1, Coins: 1, Dexes: 1, Prices: 1 }
const VIEWER_BYTES_MAX = 800_000

describe('the OpenAPI document', () => {
  test('is short enough to be read whole', async () => {
    const { rawPayload } = await sold.app.inject('/openapi.json')
    expectWithin(rawPayload.length, OPENAPI_BYTES_MAX, 'bytes')
  })

  test.each([
    ['/openapi.json', 'sold'],
    ['/openapi.json', 'given away'],
    ['/openapi-full.json', 'sold'],
    ['/openapi-full.json', 'given away'],
  ])('%s is valid OpenAPI 3.1 where answers are %s', async (path, how) => {
    const document = await fetched(path, how === 'sold' ? sold : given)
    const { valid, errors } = await new Validator().validate(structuredClone(document))
    expect(errors).toBeUndefined()
    expect(valid).toBe(true)
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  test('declares the interface version that the specification names, or an addition to it', async () => {
    const { info } = await fetched('/openapi.json')
    expect(info.version).toMatch(/^1\.[1-9]\d*\.\d+$/)
    expect(info['x-guidance'].length).toBeLessThan(4_000)
  })

  test('promises whole answers in the same form as the full one, in fewer words', async () => {
    const [short, full] = await Promise.all(
      ['/openapi.json', '/openapi-full.json'].map((path) => fetched(path)),
    )
    const checkers = [new OpenApiChecker(short), new OpenApiChecker(full)]
    for (const [at, contract] of contracts.entries()) {
      const path = pathOf(contract, 'BTC')
      const schema = responseSchema(short, path, checkers[0])
      expect(schema).toEqual(responseSchema(full, path, checkers[1]))
      const answer = (await given.app.inject(path)).json()
      for (const checker of checkers)
        expect(checker.schemaViolations(pointerOf(schema), answer), path).toEqual([])
      const [member] = Object.keys(offers[at]?.outputSchema.properties ?? {})
      const { [member ?? '']: _, ...less } = answer
      for (const checker of checkers)
        expect(checker.schemaViolations(pointerOf(schema), less), path).not.toEqual([])
    }
  })

  test('has examples that its own schemas accept', async () => {
    const document = await fetched('/openapi-full.json')
    const checker = new OpenApiChecker(document)
    const examples = [...bodiesIn(document)]
    expect(examples.length).toBeGreaterThanOrEqual(contracts.length + problemCodes.length)
    for (const { pointer, value } of examples)
      expect(checker.schemaViolations(pointer, value), pointer).toEqual([])
  })

  test('has an example of every error code', async () => {
    const { components } = await fetched('/openapi-full.json')
    const { examples } = components.responses.Problem.content['application/problem+json']
    for (const { code, status } of problemCodes)
      expect(examples[code].value).toMatchObject({ code, status })
  })

  test('says unit and meaning of every number of an answer whose name carries a unit', async () => {
    const { components } = await fetched('/openapi-full.json')
    for (const [name, schema] of Object.entries<Json>(components.schemas)) {
      if (Object.hasOwn(otherSchemas, name)) continue
      for (const { path, member } of numbersIn(schema)) {
        if (/_(bps|usd|pct|seconds|ms)$/.test(path))
          expect(member['x-unit'], `${name} ${path}`).toBeTypeOf('string')
      }
    }
  })

  test('names every operation by verb and noun, once, and asks for no key', async () => {
    const { paths } = await fetched('/openapi.json')
    const operations = Object.values<Json>(paths).map(({ get, post }) => get ?? post)
    const names = operations.map(({ operationId }) => operationId)
    expect(new Set(names).size).toBe(names.length)
    for (const { operationId, summary, security } of operations) {
      expect(operationId).toMatch(/^(get|list|call)_[a-z0-9_]+$/)
      expect(summary.length).toBeLessThan(80)
      expect(security).toEqual([])
    }
  })

  test('describes use, result, cost, freshness and coverage of each analysis', async () => {
    const { paths } = await fetched('/openapi.json')
    for (const { template } of offers)
      expect(paths[template].get.description).toMatch(
        /^Use when .+\nDo not use when .+\nReturns .+\nCost: .+\nFreshness: .+\nCoverage: .+$/,
      )
  })

  test('is shown as a page that loads nothing from elsewhere', async () => {
    const page = await sold.app.inject('/docs')
    expect(page.statusCode).toBe(200)
    expect(page.headers['content-type']).toContain('text/html')
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy.match(/https?:\/\/[^ ;]+/g)).toEqual([PUBLIC_URL])
    const sources = [...page.body.matchAll(/(?:src|href|spec-url)="([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    )
    expect(sources).toHaveLength(5)
    for (const source of sources) {
      expect(source).toMatch(/^\/[^/]/)
      const asset = await sold.app.inject(source)
      expect(asset.statusCode, source).toBe(200)
      // The viewer is named by what it is; a page of another version has another one.
      expect(asset.rawPayload.length).toBeLessThan(VIEWER_BYTES_MAX)
    }
    const errors = await sold.app.inject('/docs/errors')
    expect(errors.headers['content-security-policy']).toContain("default-src 'none'")
    const published = await sold.app.inject('/openapi.json')
    for (const path of ['/docs/json', '/docs/yaml']) {
      const { headers, body } = await sold.app.inject(path)
      expect(body, 'JSON is YAML too').toBe(published.body)
      expect(headers.etag, 'it is not written again').toBe(published.headers.etag)
    }
  })
})

describe('prices, networks and schemas', () => {
  test('are the same in every document and in the live quote', async () => {
    const [openapi, manifest, twin, prices, card, index, llms] = await Promise.all([
      fetched('/openapi.json'),
      fetched('/.well-known/x402'),
      fetched('/.well-known/x402.json'),
      fetched('/pricing'),
      fetched('/.well-known/agent-card.json'),
      fetched('/'),
      sold.app.inject('/llms.txt').then(({ body }) => body),
    ])
    expect(twin).toEqual(manifest)
    expect(manifest.resources).toEqual(contracts.map(exampleUrl))
    const [method] = sold.methods
    for (const [at, contract] of contracts.entries()) {
      const { body, header } = await quoted(pathOf(contract, 'BTC'))
      const path = pathTemplateOf(contract)
      const price = usdcDecimal(contract.priceUsdcAtomic)
      const atomic = contract.priceUsdcAtomic.toString()
      // The live quote is the truth; everything else is compared with it.
      expect(header.accepts[0]).toMatchObject({
        amount: atomic,
        network: method?.network,
        asset: method?.asset,
        payTo: PAY_TO,
      })
      expect(header.resource.url).toBe(manifest.resources[at])
      expect(body.accepts[0]).toMatchObject({
        maxAmountRequired: atomic,
        resource: manifest.resources[at],
        payTo: PAY_TO,
      })
      const operation = openapi.paths[path].get
      expect(operation['x-payment-info'].price.amount).toBe(price)
      const quote = openapi.components.responses[operation.responses[402].$ref.split('/').at(-1)]
      const [shown] = quote.content['application/json'].examples.quote.value.accepts
      const { outputSchema: _, ...live } = body.accepts[0]
      // One example for all of them: of the first.
      const { maxAmountRequired, resource, description } = at === 0 ? live : shown
      const ofFirst = { maxAmountRequired, resource, description }
      expect({ ...live, ...ofFirst }).toEqual({ ...shown, description })
      expect(manifest.endpoints[at]).toMatchObject({
        path,
        price_usdc: price,
        amount_atomic: atomic,
      })
      expect(prices.prices[at]).toMatchObject({ path, price_usdc: price, available: true })
      expect(index.paid[at]).toMatchObject({ path, price_usdc: price })
      expect(card.skills[at].description).toContain(`Cost: ${price} USDC`)
      expect(llms).toContain(`${exampleUrl(contract)}): ${contract.guide.title}, ${price} USDC`)
      // One input schema for all protocols.
      const names = operation.parameters.map(
        ({ name, $ref }: Json) =>
          name ?? openapi.components.parameters[$ref.split('/').at(-1)].name,
      )
      expect(Object.keys(manifest.endpoints[at].input.properties)).toEqual(names)
      const { pathParams, queryParams } = body.accepts[0].outputSchema.input
      expect(Object.keys({ ...pathParams, ...queryParams })).toEqual(names)
    }
    expect(manifest.networks).toEqual([method?.network])
    expect(prices.ways_to_pay).toEqual(manifest.ways_to_pay)
    expect(prices.limits).toEqual({
      sales_per_wallet_per_minute: 20,
      quotes_per_address_per_minute: 60,
    })
  })

  test('of a free service are free in every document', async () => {
    const [openapi, manifest, prices, card, llms] = await Promise.all([
      fetched('/openapi.json', given),
      fetched('/.well-known/x402', given),
      fetched('/pricing', given),
      fetched('/.well-known/agent-card.json', given),
      given.app.inject('/llms.txt').then(({ body }) => body),
    ])
    expect(JSON.stringify(openapi)).not.toContain('x-payment-info')
    expect(manifest).toMatchObject({ free: true, resources: [], networks: [], payTo: [] })
    expect(prices).toMatchObject({ free: true, ways_to_pay: [] })
    for (const { description } of card.skills) expect(description).toContain('free on this service')
    expect(llms).toContain('free on this service')
    for (const { template } of offers)
      expect(openapi.paths[template].get.responses).not.toHaveProperty('402')
  })

  test('fit into a header below 4 KB, with what catalogues and careful buyers read', async () => {
    for (const contract of contracts) {
      const { header, headerBytes } = await quoted(pathOf(contract, 'BTC'))
      expect(headerBytes, contract.id).toBeLessThan(4_096)
      expect(Object.keys(header.extensions), contract.id).toEqual(
        expect.arrayContaining(['answer-preview', 'bazaar']),
      )
      expect(validateDiscoveryExtension(header.extensions.bazaar), contract.id).toMatchObject({
        valid: true,
      })
    }
  })
})

test('a paid answer says how long verifying, answering and settling took, a replay nothing of it', async () => {
  const choices = { amount: 25_000n, payTo: PAY_TO, nowMs: market.nowMs } as const
  const headers = { 'payment-signature': encodedPayment(await signedPayload(newBuyer(), choices)) }
  const first = await sold.app.inject({ url: '/pulse/BTC', headers })
  expect(first.statusCode).toBe(200)
  expect(first.headers['server-timing']).toMatch(
    /^verify;dur=[\d.]+, engine;dur=[\d.]+, settle;dur=[\d.]+$/,
  )
  const again = await sold.app.inject({ url: '/pulse/BTC', headers })
  expect(again.body).toBe(first.body)
  expect(again.headers).not.toHaveProperty('server-timing')
})

describe('what is advertised', () => {
  test('has the paths of the specification', async () => {
    const { paths } = await fetched('/openapi.json')
    const specified = [
      ...[
        '/health',
        '/coins',
        '/.well-known/agent-card.json',
        '/openapi.json',
        '/.well-known/x402',
      ],
      ...['/arb', '/basis/{coin}', '/bundle/{coin}', '/cex-dex/{token}', '/correlation', '/depeg'],
      ...['/funding/{coin}', '/liquidations/{coin}', '/oi/{coin}', '/pulse/{coin}', '/screener'],
      ...['/sentiment', '/spread/{coin}'],
    ]
    expect(Object.keys(paths)).toEqual(expect.arrayContaining(specified))
    await quoted('/cex-dex/%7Btoken%7D')
  })

  test('answers 402 at that very address', async () => {
    const { resources } = await fetched('/.well-known/x402')
    expect(resources.length).toBe(contracts.length)
    for (const url of resources) await quoted(new URL(url).pathname)
  })

  test('leaves out what cannot be sold, and says so in the price list', async () => {
    const { engine, nowMs } = market
    const document = engine.document('arb/*')
    if (document === undefined) throw new Error('there is an arb')
    const { key, renderedAtMs, nextUpdateMs, bytes, parts } = document
    const plain = { key, renderedAtMs, nextUpdateMs, bytes, parts }
    const tell = (views: Document['views'], version: number) =>
      engine.apply({ kind: 'documents', documents: [{ ...plain, views, version }] }, nowMs)
    tell({ '': { kind: 'missing-input', input: 'dex' } }, document.version + 1)
    try {
      const { resources } = await fetched('/.well-known/x402')
      expect(resources).not.toContain(`${PUBLIC_URL}/arb`)
      const { prices } = await fetched('/pricing')
      expect(prices.find(({ analysis }: Json) => analysis === 'arb').available).toBe(false)
    } finally {
      tell(document.views, document.version + 2)
    }
  })

  test('is named by links on every free document', async () => {
    for (const path of ['/', '/health', '/coins', '/pricing', '/llms.txt', '/openapi.json']) {
      const { headers } = await sold.app.inject(path)
      expect(headers['link'], path).toContain('</openapi.json>; rel="service-desc"')
    }
  })

  test('answers 304 to a caller that has it', async () => {
    const first = await sold.app.inject('/llms.txt')
    const etag = String(first.headers['etag'])
    const again = await sold.app.inject({
      url: '/llms.txt',
      headers: { 'if-none-match': `"other", W/${etag}` },
    })
    expect(again.statusCode).toBe(304)
    expect(again.body).toBe('')
    expect(first.headers['cache-control']).toBe('public, max-age=300')
  })
})

describe("the indexers' own linter", () => {
  test('finds no error and no warning on the running service', async () => {
    const gateway = discoveryGateway(market, 'x402')
    const origin = await gateway.app.listen({ host: '127.0.0.1', port: 0 })
    try {
      const openapi = (await getOpenAPI(origin)).unwrapOr(null)
      if (openapi === null || isOpenApiParseFailure(openapi)) throw new Error('it was not read')
      const notes = [
        ...getWarningsForOpenAPI(openapi),
        ...getWarningsForL2(checkL2ForOpenAPI(openapi)),
        ...getWarningsForL4(checkL4ForOpenAPI(openapi)),
        ...(await (await getWarningsForFavicon(origin)).unwrapOr([])),
      ]
      for (const contract of contracts) {
        const url = origin + pathOf(contract, 'BTC')
        const checked = await checkEndpointSchema({ url, probe: true })
        if (!checked.found) throw new Error(`${url} was not found`)
        const answer = await fetch(url)
        expect(answer.status).toBe(402)
        const terms = Buffer.from(answer.headers.get('payment-required') ?? '', 'base64')
        notes.push(
          ...checked.advisories.flatMap((advisory) => getWarningsForL3(advisory)),
          ...getWarningsFor402Body(JSON.parse(terms.toString('utf8'))),
        )
      }
      expect(notes).toEqual([])
    } finally {
      await gateway.close()
    }
  })
})

describe('the agent card', () => {
  test('is one of A2A 1.0, as the official package reads it', async () => {
    const card = await fetched('/.well-known/agent-card.json')
    const read = AgentCard.toJSON(AgentCard.fromJSON(card)) as Record<string, unknown>
    // It leaves out what is as it would be anyway, such as `required: false`.
    expect(card).toMatchObject(read)
    const required = ['name', 'description', 'supportedInterfaces', 'version', 'capabilities']
    expect(Object.keys(read)).toEqual(
      expect.arrayContaining([...required, 'defaultInputModes', 'defaultOutputModes', 'skills']),
    )
    expect(read['skills']).toHaveLength(contracts.length)
  })

  test('still has the members by which version 0.3 finds the way', async () => {
    const card = await fetched('/.well-known/agent-card.json')
    const [{ url, transport }] = card.additionalInterfaces
    expect(card).toMatchObject({ protocolVersion: '0.3.0', url, preferredTransport: transport })
  })

  test('promises payment within a task where answers are sold, and only there', async () => {
    const { capabilities } = await fetched('/.well-known/agent-card.json')
    expect(capabilities.extensions).toHaveLength(2)
    const free = (await given.app.inject('/.well-known/agent-card.json')).json()
    expect(free.capabilities).not.toHaveProperty('extensions')
  })
})

describe('samples', () => {
  test.each(contracts.map((contract) => ({ id: contract.id, contract })))(
    'of $id has the true form, and says that it is one',
    async ({ id, contract }) => {
      const response = await sold.app.inject(`/sample/${id}`)
      expect(response.statusCode).toBe(200)
      const sample = response.json()
      expect([...Compile(contract.document).Errors(sample)]).toEqual([])
      expect(undeclaredMembers(contract.document, sample)).toEqual([])
      expect(sample.meta.sample).toBe(true)
    },
  )

  test.each(contracts.map((contract) => ({ id: contract.id, contract })))(
    'of $id have the form that view and fields give an answer',
    async ({ id, contract }) => {
      const path = `${pathOf(contract, 'BTC')}?`
      for (const query of ['view=compact', 'fields=meta.quality', 'view=compact&fields=meta']) {
        const answer = (await given.app.inject(path + query)).json()
        const sample = (await given.app.inject(`/sample/${id}?${query}`)).json()
        expect(sample.meta.sample, query).toBe(true)
        expect(Object.keys(sample).sort(), query).toEqual(Object.keys(answer).sort())
        const { sample: _, ...meta } = sample.meta
        expect(Object.keys(meta).sort(), query).toEqual(Object.keys(answer.meta).sort())
      }
    },
  )

  test('of the screener have the short rows with view=compact', async () => {
    const [row] = (await given.app.inject('/sample/screener?view=compact')).json().coins
    const [sold] = (await given.app.inject('/screener?view=compact')).json().coins
    expect(Object.keys(row)).toEqual(Object.keys(sold))
  })

  test.each([
    ['view=short', 'invalid_parameter', 'view'],
    ['fields=nothing', 'invalid_parameter', 'fields'],
    ['fields=price&fields=coin', 'invalid_parameter', 'fields'],
    ['veiw=compact', 'unknown_parameter', 'veiw'],
  ])('with %s are refused as the analysis is', async (query, code, param) => {
    const response = await given.app.inject(`/sample/pulse?${query}`)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({ code, param })
  })

  test('of what is not sold are refused with what is', async () => {
    const response = await sold.app.inject('/sample/nothing')
    expect(response.statusCode).toBe(404)
    expect(response.json().allowed).toEqual(contracts.map(({ id }) => id))
  })
})

describe('an answer in tokens', () => {
  const tokens = async (path: string) => encode((await given.app.inject(path)).body).length

  test.each([
    ['/pulse/BTC?view=compact', 1_100],
    ['/liquidations/BTC?view=compact', 1_250],
    ['/screener?view=compact&top_n=50', 9_500],
    ['/bundle/BTC?view=compact', 2_500],
    // Four track records among them.
    ['/bundle/BTC', 4_800],
  ])('%s stays below %d', async (path, tokensMax) => {
    expect(await tokens(path)).toBeLessThan(tokensMax)
  })

  test.each(contracts.map((contract) => ({ id: contract.id, contract })))(
    '$id stays below 20,000 with any parameters',
    async ({ contract }) => {
      const path = pathOf(contract, 'BTC')
      expect(await tokens(path)).toBeLessThan(20_000)
      expect(await tokens(`${path}?view=compact`)).toBeLessThanOrEqual(await tokens(path))
    },
  )
})

describe('the error guide', () => {
  test('has an anchor for every code that a refusal points at', async () => {
    const { body } = await sold.app.inject('/docs/errors')
    for (const { code } of problemCodes) expect(body).toContain(`id="${code}"`)
    const refusal = await fetched('/pulse/NOPE')
    expect(refusal.docs).toBe('/docs/errors#invalid_coin')
  })
})

/** Of the 200 of a path. */
function responseSchema(document: Json, path: string, checker: OpenApiChecker | undefined): Json {
  const operation = document.paths[checker?.templateOf(path) ?? ''].get
  return operation.responses[200].content['application/json'].schema
}

function pointerOf({ $ref }: Json): string {
  return $ref.slice(1)
}

function* bodiesIn(document: Json): Generator<{ pointer: string; value: unknown }> {
  const holders = [
    ...Object.entries<Json>(document.paths).flatMap(([path, { get, post }]) =>
      Object.entries<Json>((get ?? post).responses).map(([status, response]) => ({
        pointer: `/paths/${path.replaceAll('/', '~1')}/${get ? 'get' : 'post'}/responses/${status}`,
        response,
      })),
    ),
    ...Object.entries<Json>(document.components.responses).map(([name, response]) => ({
      pointer: `/components/responses/${name}`,
      response,
    })),
  ]
  for (const { pointer, response } of holders) {
    for (const [type, media] of Object.entries<Json>(response.content ?? {})) {
      const schema = `${pointer}/content/${type.replaceAll('/', '~1')}/schema`
      for (const { value } of Object.values<Json>(media.examples ?? {}))
        yield { pointer: schema, value }
      if (media.example !== undefined) yield { pointer: schema, value: media.example }
    }
  }
}

function* numbersIn(schema: Json, path = ''): Generator<{ path: string; member: Json }> {
  const types = [schema.type].flat()
  if (types.includes('number') || types.includes('integer')) yield { path, member: schema }
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    yield* numbersIn(member, path === '' ? name : `${path}.${name}`)
  for (const inner of [
    schema.items,
    schema.additionalProperties,
    ...(schema.anyOf ?? []),
    ...(schema.allOf ?? []),
  ])
    if (typeof inner === 'object') yield* numbersIn(inner, path)
}
