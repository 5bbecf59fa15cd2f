import Ajv2020 from 'ajv/dist/2020.js'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { pathOf } from '../src/domain/contract.ts'
import type { Json } from './support/answers.ts'
import type { DiscoveryGateway, StandingMarket } from './support/discovery-gateway.ts'
import { discoveryGateway, standingMarket } from './support/discovery-gateway.ts'
import { expectWithin, TOOLS_TOKENS_MAX } from './support/size-budgets.ts'

let market: StandingMarket
let sold: DiscoveryGateway
let given: DiscoveryGateway
let tools: readonly Json[]

async function toolsOf({ app }: DiscoveryGateway): Promise<readonly Json[]> {
  const { body } = await app.inject({
    method: 'POST',
    url: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    payload: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
  })
  const event = body.split('\n').find((line) => line.startsWith('data:'))
  return JSON.parse(event?.slice('data:'.length) ?? body).result.tools
}

beforeAll(async () => {
  market = standingMarket()
  sold = discoveryGateway(market, 'x402')
  given = discoveryGateway(market, 'open')
  tools = await toolsOf(sold)
})

afterAll(async () => {
  await sold?.close()
  await given?.close()
})

test('the list of tools leaves a model room for its work', async () => {
  for (const listed of [tools, await toolsOf(given)])
    expectWithin(encode(JSON.stringify(listed)).length, TOOLS_TOKENS_MAX, 'tokens')
})

test('every tool says when to use it, when not, what it returns and costs', () => {
  for (const { name, title, description, inputSchema, annotations } of tools.slice(0, -2)) {
    expect(description, name).toMatch(/^Use when .+\nDo not use when .+\nReturns .+\nCost: .+USDC/)
    expect(title.length, name).toBeGreaterThan(10)
    for (const parameter of Object.values<Json>(inputSchema.properties))
      expect(parameter.description, name).toBeTypeOf('string')
    expect(annotations.readOnlyHint).toBe(true)
  }
})

test.each(contracts)(
  'answers and quotes of $id hold against its output schema, nothing else does',
  async (contract) => {
    const tool = tools.find(({ name }) => name === `get_${contract.id.replaceAll('-', '_')}`)
    const validate = new Ajv2020.default({ strict: false }).compile(tool?.outputSchema)
    const path = pathOf(contract, 'BTC')
    for (const url of [path, `${path}?view=compact`])
      expect(validate((await given.app.inject(url)).json()), url).toBe(true)
    const quote = (await sold.app.inject(path)).json()
    expect(validate(quote)).toBe(true)
    const { meta: _, ...broken } = (await given.app.inject(path)).json()
    expect(validate(broken)).toBe(false)
  },
)
