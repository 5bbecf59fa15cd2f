import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contracts } from '../src/compute/analyses/registry.ts'
import { inheritedEnv } from '../src/config/environment.ts'
import type { Rig } from './support/service.ts'
import { mainMarketOnly, startRig, untilSold } from './support/service.ts'

const ROOT = join(import.meta.dirname, '..')
const FUNDS = 1_000_000n

let rig: Rig

beforeAll(async () => {
  rig = await startRig({ solana: true, flags: mainMarketOnly })
  for (const contract of contracts)
    if (['pulse', 'funding', 'spread', 'screener'].includes(contract.id))
      await untilSold(rig.url, contract, 'BTC')
})

afterAll(() => rig?.close())

/** Again where a busy machine has older data than it quoted, which is refused without a charge. */
async function run(example: string, env: Record<string, string>) {
  for (;;) {
    const { code, output, errors } = await ended(example, env, ['--import', 'tsx'])
    if (errors.includes('"code":"data_stale"')) continue
    expect(code, errors).toBe(0)
    return output
  }
}

async function ended(example: string, env: Record<string, string>, flags: readonly string[]) {
  const child = spawn(process.execPath, [...flags, `examples/${example}.ts`], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...inheritedEnv(), PERPSCOPE_URL: rig.url, ...env },
  })
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, output, errors }
}

async function wallet() {
  const key = generatePrivateKey()
  const account = privateKeyToAccount(key)
  await rig.chain.fundUsdc(account.address, FUNDS)
  return { key, spent: async () => FUNDS - (await rig.chain.balanceOf(account.address)) }
}

const priceOf = (analysis: string) =>
  contracts.find(({ id }) => id === analysis)?.priceUsdcAtomic ?? 0n

/** At the same time: each has a wallet of its own, and waits for its purchase. */
describe.concurrent('an example', () => {
  test('plain-fetch buys a pulse', async () => {
    const { key, spent } = await wallet()
    expect(await run('plain-fetch', { WALLET_KEY: key })).toMatch(/^BTC: \w+, score .*, paid in 0x/)
    expect(await spent()).toBe(priceOf('pulse'))
  })

  test('wallet-on-base buys funding', async () => {
    const { key, spent } = await wallet()
    expect(await run('wallet-on-base', { WALLET_KEY: key })).toMatch(/^BTC pays .* on eip155:8453/s)
    expect(await spent()).toBe(priceOf('funding'))
  })

  test('wallet-on-solana buys a spread', async () => {
    const { solana } = rig
    if (solana === null) throw new Error('the rig has a Solana')
    const { buyer, merchant } = solana.accounts
    const before = solana.balanceOf(merchant.address)
    const env = { SOLANA_KEY: buyer.walletFile, SOLANA_RPC_URL: solana.rpcUrl }
    expect(await run('wallet-on-solana', env)).toMatch(/^BTC: .* bps .* on solana:/s)
    expect(solana.balanceOf(merchant.address) - before).toBe(priceOf('spread'))
  })

  test.each([
    ['plain-fetch', 'WALLET_KEY'],
    ['wallet-on-base', 'WALLET_KEY'],
    ['wallet-on-solana', 'SOLANA_KEY'],
    ['agent-loop', 'WALLET_KEY'],
  ])('%s without a key says what to set', async (example, variable) => {
    // As Node runs it by itself, which loads in half the time.
    const { code, output, errors } = await ended(example, {}, [])
    expect({ code, output }).toEqual({ code: 2, output: '' })
    expect(errors).toContain(variable)
  })

  test('agent-loop stops when its budget is spent', async () => {
    const { key, spent } = await wallet()
    const output = await run('agent-loop', { WALLET_KEY: key, BUDGET_USD: '0.1' })
    expect(output).toMatch(/score .*, quality [A-D]\n[\s\S]*spent 0\.\d+ USDC\n$/)
    expect(await spent()).toBeLessThanOrEqual(100_000n)
  })
})
