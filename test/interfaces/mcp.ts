import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { contracts } from '../../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../../src/config/environment.ts'
import type { Result } from '../support/mcp-clients.ts'
import { generations, info, textOf, walletOn } from '../support/mcp-clients.ts'
import type { Rig } from '../support/service.ts'
import { fromElsewhere, runCommand, until } from '../support/service.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const FUNDS = 1_000_000n

export function mcpTests(service: () => Rig): void {
  describe('MCP', () => {
    /**
     * Calls with a payment. A machine that was held up has older data than it quoted, and refuses without a charge; the
     * same payment buys once the quote is as good again.
     */
    const bought = async (call: () => Promise<Result>): Promise<Result> => {
      for (;;) {
        const result = await call()
        const [, grade] = /"quoted_grade":"([A-D])"/.exec(textOf(result)) ?? []
        if (grade === undefined) return result
        await until(`an answer of grade ${grade} is quoted`, async () => {
          const quote = await fromElsewhere()(`${service().url}/oi/BTC`)
          const terms = JSON.parse(atob(quote.headers.get('payment-required') ?? ''))
          return terms.extensions['answer-preview'].info.quality_grade <= grade
        })
      }
    }

    test.each(Object.entries(generations))('sells to an MCP client %s', async (_name, connect) => {
      const caller = await connect(service().url)
      const { pay, spent } = await walletOn(service().chain)
      const args = { coin: 'BTC' }
      const quoted = await caller.call('get_oi', args)
      const payment = await pay(quoted.structuredContent)
      const result = await bought(() => caller.call('get_oi', args, { 'x402/payment': payment }))
      expect(result.isError ?? false, textOf(result)).toBe(false)
      expect(result.structuredContent).toMatchObject({ coin: 'BTC' })
      expect(result._meta?.['x402/payment-response']).toMatchObject({ success: true })
      expect(await spent()).toBe(contracts.find(({ id }) => id === 'oi')?.priceUsdcAtomic)
      await caller.close()
    })

    const started = async (env: Record<string, string>, flags: readonly string[] = []) => {
      const client = new Client(info)
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, 'mcp', '--url', service().url, ...flags],
        env: { ...inheritedEnv(), ...env },
        stderr: 'pipe',
      })
      let logged = ''
      transport.stderr?.on('data', (data: Buffer) => {
        logged += data.toString()
      })
      await client.connect(transport)
      return { client, logged: () => logged }
    }

    test('`perpscope mcp` buys for a client over stdio, and states its expenses', async () => {
      const key = generatePrivateKey()
      const { address } = privateKeyToAccount(key)
      await service().chain.fundUsdc(address, FUNDS)
      const { client, logged } = await started({ PERPSCOPE_WALLET_KEY: key })
      expect((await client.listTools()).tools).toHaveLength(contracts.length + 2)
      const args = { name: 'get_oi', arguments: { coin: 'BTC' } }
      const result = await bought(async () => (await client.callTool(args)) as Result)
      expect(result.isError ?? false, textOf(result)).toBe(false)
      expect(result.structuredContent).toMatchObject({ coin: 'BTC' })
      const price = contracts.find(({ id }) => id === 'oi')?.priceUsdcAtomic ?? 0n
      expect(FUNDS - (await service().chain.balanceOf(address))).toBe(price)
      expect(logged()).toContain(`get_oi, ${Number(price) / 1e6} USDC spent`)
      await client.close()
    })

    test('`perpscope mcp` signs nothing beyond its budget', async () => {
      const key = generatePrivateKey()
      const { address } = privateKeyToAccount(key)
      await service().chain.fundUsdc(address, FUNDS)
      const { client } = await started({ PERPSCOPE_WALLET_KEY: key }, ['--budget-usd', '0.001'])
      const args = { name: 'get_pulse', arguments: { coin: 'BTC' } }
      const result = (await client.callTool(args)) as Result
      expect(result.isError).toBe(true)
      expect(textOf(result)).toMatch(/^Not bought: the call costs 0\.025 USDC/)
      expect(await service().chain.balanceOf(address)).toBe(FUNDS)
      await client.close()
    })

    test('`perpscope mcp` does not start without a wallet, and states how to set one', async () => {
      const { code, errors } = await runCommand(['mcp', '--url', service().url])
      expect(code).toBe(78)
      expect(errors).toContain('PERPSCOPE_WALLET_KEY')
    })
  })
}
