import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GatewayFixture } from '../../api/testing/gateway-fixture.ts'
import { gatewayFixture, quotingGate } from '../../api/testing/gateway-fixture.ts'
import { WHOLE_MARKET } from '../../domain/document.ts'
import { contracts, documentContracts } from '../analyses/registry.ts'
import { Processor, PUBLISH_PHASES } from '../processor.ts'
import { NOW_MS, warmTape } from '../testing/tape.ts'
import { madeClaimsContract } from '../track-record/made-claims.ts'
import { trackRecordContract } from '../track-record-statistics/track-record-document.ts'
import { chart } from './chart.ts'
import { overview } from './overview.ts'

const unsold = [chart.contract, overview.contract, trackRecordContract, madeClaimsContract]
let gateway: GatewayFixture

beforeAll(async () => {
  gateway = gatewayFixture({ contracts, payment: quotingGate })
  const processor = new Processor({ coin: [chart], market: [overview as never] }, '0.0.0')
  for (const batch of warmTape('BTC')) processor.process(batch)
  const ofCoins = Array.from({ length: PUBLISH_PHASES }, () => [...processor.publish(NOW_MS)])
  const { gathered, rendering } = processor.gather('overview', NOW_MS)
  const documents = [...ofCoins.flat(), overview.render(gathered as never, rendering)]
  gateway.deliver({ kind: 'documents', documents })
  await gateway.app.ready()
})

afterAll(() => gateway.app.close())

test('charts, the track record and digests of claims are rendered, and no contract names them', () => {
  const sold = new Set(contracts.map(({ id }) => id))
  const others = documentContracts.filter(({ id }) => !sold.has(id))
  expect(others).toEqual(unsold)
  for (const contract of others) expect(contract).not.toHaveProperty('priceUsdcAtomic')
})

test('a gateway has the documents and neither sells nor names them', async () => {
  const { app, engine } = gateway
  for (const key of ['chart/BTC', `overview/${WHOLE_MARKET}`] as const)
    expect(engine.document(key)?.views['']?.kind).toBe('answer')
  for (const path of ['/chart/BTC', '/overview', '/sample/chart', '/sample/overview'])
    expect((await app.inject(path)).statusCode, path).toBe(404)
  for (const path of [
    '/',
    '/openapi-full.json',
    '/llms-full.txt',
    '/.well-known/agent-card.json',
  ]) {
    const { statusCode, body } = await app.inject(path)
    expect(statusCode, path).toBe(200)
    expect(body, path).not.toMatch(/\/(chart|overview)\b/)
  }
})
