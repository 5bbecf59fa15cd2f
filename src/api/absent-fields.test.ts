import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { partialMap } from '../compute/render/answer-schema.ts'
import type { AnalysisContract } from '../domain/contract.ts'
import type { Document, Slot } from '../domain/document.ts'
import { expectProblem } from './testing/expect-problem.ts'
import { gatewayFixture, quotingGate } from './testing/gateway-fixture.ts'
import { layOut, pulseLike } from './testing/pulse-like.ts'

const HOUR_MS = 3_600_000
const figure = Type.Number()
const optional = Type.Optional(figure)

const contract: AnalysisContract = {
  ...pulseLike,
  id: 'oi',
  defaultView: '',
  viewParameters: [],
  document: Type.Object({
    coin: Type.String(),
    requested_coin: Type.Optional(Type.String()),
    unit_multiplier: optional,
    timestamp_iso: Type.String(),
    price: figure,
    dex: Type.Optional(Type.Object({ name: Type.String() })),
    outlook: Type.Union([
      Type.Object({ by_hour: Type.Record(Type.String(), figure) }),
      Type.Null(),
    ]),
    rows: Type.Array(Type.Object({ coin: Type.String(), size: figure, unit: optional })),
    none: Type.Array(Type.Object({ size: figure, unit: optional })),
    correlations: Type.Record(Type.String(), figure),
    fees: Type.Array(
      Type.Object({ by_chain: Type.Union([Type.Record(Type.String(), figure), Type.Null()]) }),
    ),
    zeros: Type.Record(Type.String(), figure),
    tiers: partialMap(['3x', '5x'], figure),
    meta: Type.Object({
      offering: Type.String(),
      data_age_seconds: figure,
      warning: Type.Optional(Type.String()),
      quality: Type.Object({ grade: Type.String() }),
    }),
  }),
}

const pieces = (correlations: object): (string | Slot)[] => [
  '{"coin":"kPEPE"',
  { kind: 'requested-coin' },
  `,"timestamp_iso":"2026-01-01T00:00:00Z","price":1,"outlook":null,"rows":[{"coin":"ETH","size":1},{"coin":"SOL","size":2}],"none":[],"correlations":${JSON.stringify(correlations)},"fees":[{"by_chain":null},{"by_chain":{"base":1}},{"by_chain":{"solana":2}}],"zeros":{},"tiers":{"3x":1},"meta":{"offering":"service_oi",`,
  { kind: 'freshness' },
  '}}',
]

function documentOf(confirmedAtMs: number, correlations: object, version = 1): Document {
  const { bytes, parts } = layOut(pieces(correlations))
  const inputs = [{ name: 'mark', confirmedAtMs, cadenceMs: 5_000, isLoadBearing: true }]
  return {
    ...{ key: 'oi/kPEPE', version, renderedAtMs: confirmedAtMs, bytes, parts },
    views: {
      '': {
        ...{ kind: 'answer', parts: parts.map((_, at) => at), inputs },
        ...{ coveragePct: 100, warnings: [] },
      },
    },
  }
}

const CORRELATIONS = { ETH: 0.9, SOL: 0.8, 'xyz:TSLA': 0.1, '7': 0.2, constructor: 0.3 }

function gateway(payment = quotingGate) {
  const fixture = gatewayFixture({ contracts: [contract], payment })
  const { app, clock, deliver } = fixture
  onTestFinished(() => app.close())
  deliver({ kind: 'documents', documents: [documentOf(clock.nowMs(), CORRELATIONS)] })
  return { ...fixture, get: (fields: string, coin = 'kPEPE') => asked(app, fields, coin) }
}

function asked(app: FastifyInstance, fields: string, coin: string) {
  return app.inject(`/oi/${coin}?fields=${fields}`)
}

describe('fields without a member of the current answer', () => {
  test.each([
    ['dex', 'dex', ['coin', 'price', 'rows'], []],
    ['dex.name', 'dex.name', ['coin', 'price'], []],
    ['dex,dex', 'dex', ['coin', 'price'], []],
    ['requested_coin', 'requested_coin', ['coin', 'price'], []],
    [
      'meta.warning',
      'meta.warning',
      ['data_age_seconds', 'warnings', 'quality'],
      ['meta.warnings'],
    ],
    ['rows.unit', 'rows.unit', ['coin', 'size'], []],
    ['correlations.NOPE', 'correlations.NOPE', ['ETH', 'SOL', 'xyz:TSLA'], []],
    ['correlations.eth', 'correlations.eth', ['ETH'], ['correlations.ETH']],
    ['correlations.0', 'correlations.0', ['ETH', '7'], []],
    ['correlations.', 'correlations.', ['ETH'], []],
    ['correlations.__proto__', 'correlations.__proto__', ['ETH'], []],
    ['correlations.toString', 'correlations.toString', ['ETH'], []],
    ['fees.by_chain.tron', 'fees.by_chain.tron', ['base', 'solana'], []],
    ['zeros.a', 'zeros.a', [], []],
    ['tiers.5x', 'tiers.5x', ['3x'], []],
  ])('are refused before any quote: %s', async (fields, named, allowed, meant) => {
    const response = await gateway().get(fields)
    expectProblem(response, 400, 'invalid_parameter')
    expect(response.json()).toMatchObject({
      param: 'fields',
      detail: expect.stringContaining(`names "${named}", which is not in the current answer.`),
      allowed: expect.arrayContaining(allowed),
      did_you_mean: expect.arrayContaining(meant),
    })
  })

  test('are refused by one name if there are several', async () => {
    const response = await gateway().get('dex,rows.unit,meta.warning')
    expectProblem(response, 400, 'invalid_parameter')
    expect(response.json().detail).toBe(
      'fields names only members that are not in the current answer, such as "dex".',
    )
  })

  test('are refused for a key that a map lacks, whatever else they name', async () => {
    const { get } = gateway()
    const detail =
      'fields names "correlations.NOPE", which is not in the current answer. fields=correlations selects all keys.'
    for (const fields of [
      'price,correlations.NOPE',
      'correlations,correlations.NOPE',
      'correlations.ETH,correlations.NOPE',
      'dex,correlations.NOPE',
    ]) {
      const response = await get(fields)
      expectProblem(response, 400, 'invalid_parameter')
      expect(response.json().detail).toBe(detail)
    }
  })
})

test('a key that a map can never have is refused by name, in every view', async () => {
  for (const view of ['full', 'compact']) {
    const response = await gateway().get(`price,tiers.4x&view=${view}`)
    expectProblem(response, 400, 'invalid_parameter')
    expect(response.json()).toMatchObject({
      detail: 'fields names "tiers.4x", which is not a member of the answer.',
      allowed: ['3x', '5x'],
      retryable: false,
    })
  }
})

test('fields that the compact view lacks at the moment are refused alone, and left out among others', async () => {
  const { get } = gateway()
  for (const fields of ['dex.name', 'tiers.5x', 'price,correlations.NOPE']) {
    const response = await get(`${fields}&view=compact`)
    expectProblem(response, 400, 'invalid_parameter')
    expect(response.json().retryable, 'a later answer may have a declared member').toBe(
      !fields.includes('NOPE'),
    )
  }
  expect((await get('price,dex.name,tiers.5x&view=compact')).statusCode).toBe(402)
})

describe('fields with a member of the current answer', () => {
  test.each([
    ['an optional member among others', 'price,dex,rows.unit,meta.warning,requested_coin'],
    ['a possible key among others', 'price,tiers.5x'],
    ['a key of a map', 'correlations.ETH,correlations.xyz:TSLA'],
    ['a key that is a number or a name of every object', 'correlations.7,correlations.constructor'],
    ['a key that one item of a list has', 'fees.by_chain.base'],
    ['a value below null', 'outlook.by_hour.12'],
    ['a value below an empty list', 'none.unit'],
    ['a member of a slot', 'meta.quality.grade'],
  ])('are quoted: %s', async (_, fields) => {
    expect((await gateway().get(fields)).statusCode).toBe(402)
  })

  test('depend on how the coin is named, and on its age', async () => {
    const { clock, deliver, get } = gateway()
    const codes = async () =>
      Promise.all(
        [get('requested_coin', 'PEPE'), get('unit_multiplier', 'kPEPE'), get('meta.warning')].map(
          async (response) => (await response).statusCode,
        ),
      )
    expect(await codes()).toEqual([402, 400, 400])
    deliver({
      kind: 'documents',
      documents: [documentOf(clock.nowMs() - 3 * HOUR_MS, CORRELATIONS, 2)],
    })
    expect(await codes()).toEqual([402, 400, 402])
  })

  test('are refused without a charge if the answer loses the member before it is sent', async () => {
    const { clock, deliver, app } = gateway((paid) => {
      paid.addHook('preHandler', (request, _reply, done) => {
        request.isPaymentUsed = false
        deliver({ kind: 'documents', documents: [documentOf(clock.nowMs(), { SOL: 0.7 }, 2)] })
        done()
      })
    })
    const url = '/oi/kPEPE?fields=correlations.ETH'
    const response = await app.inject({ url, headers: { 'x-payment': 'e30=' } })
    expectProblem(response, 400, 'invalid_parameter', { paymentReusable: true })
    expect(response.json()).toMatchObject({ allowed: ['SOL'] })
  })
})

test('a call through A2A gets the refusal of the path, before any quote', async () => {
  const { app } = gateway()
  const data = { analysis: 'oi', coin: 'kPEPE', fields: 'correlations.NOPE' }
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ data }] }
  const response = await app.inject({
    ...{ method: 'POST', url: '/a2a', headers: { 'a2a-version': '1.0' } },
    payload: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
  })
  const { state, message: reply } = response.json().result.task.status
  expect(state).toBe('TASK_STATE_FAILED')
  expect(reply.metadata.problem).toMatchObject({
    ...{ code: 'invalid_parameter', param: 'fields', retryable: false, charged: false },
    allowed: expect.arrayContaining(['ETH']),
  })
})
