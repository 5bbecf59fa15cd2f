import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { oi } from '../src/compute/analyses/oi/oi.ts'
import { contracts } from '../src/compute/analyses/registry.ts'
import { buyOptions } from '../src/config/buy.ts'
import { SettingsCommand } from '../src/config/settings-command.ts'
import { UsageError } from '../src/config/usage.ts'
import { buy as roleOfBuy } from '../src/roles/buy.ts'
import { freePort } from '../src/roles/demo/free-port.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Rig } from './support/service.ts'
import { runCommand, startRig, untilSold } from './support/service.ts'

const FUNDS = 1_000_000n

let rig: Rig
let folder: string

beforeAll(async () => {
  rig = await startRig({ solana: true })
  folder = await mkdtemp(join(tmpdir(), 'perpscope-buy-'))
  for (const contract of contracts)
    if (['pulse', 'oi', 'funding'].includes(contract.id)) await untilSold(rig.url, contract, 'BTC')
})

afterAll(async () => {
  await rig?.close()
  await rm(folder, { recursive: true })
})

async function wallet() {
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await rig.chain.fundUsdc(address, FUNDS)
  return { key, spent: async () => FUNDS - (await rig.chain.balanceOf(address)) }
}

/** The built command. */
const buy = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand(['buy', ...args], { env: { PERPSCOPE_URL: rig.url, ...env } })

/** The same in this process, without a terminal. @throws what ends the command with 1, or with 2 if it is a UsageError */
async function buyHere(args: readonly string[]) {
  const variables = { PERPSCOPE_URL: rig.url }
  const command = new SettingsCommand('buy', { variables, fileOptions: [] }).argument('<path>')
  for (const option of buyOptions) command.addOption(option)
  command.parse(args, { from: 'user' })
  let [output, errors] = ['', '']
  const shell = {
    write: (text: string) => {
      output += text
    },
    tell: (text: string) => {
      errors += text
    },
    isPretty: false,
    canAsk: false,
  }
  const code = await roleOfBuy(command.args[0] ?? '', command.opts(), shell)
  return { code, output, errors: errors.trimEnd() }
}

describe('perpscope buy', () => {
  test('buys with a key, the answer on standard output and the report on standard error', async () => {
    const { key, spent } = await wallet()
    const { code, output, errors } = await buy(['/pulse/btcusdt', '--key', key, '--yes'])
    expect(code, errors).toBe(0)
    expect(JSON.parse(output)).toMatchObject({ coin: 'BTC' })
    const { merchant } = rig.chain.accounts
    expect(errors.split('\n')).toEqual([
      `paying 0.025 USDC on Base to ${merchant.address}`,
      expect.stringMatching(/^paid 0\.025 USDC on Base, transaction 0x[0-9a-f]{64}$/),
    ])
    expect(await spent()).toBe(25_000n)
  })

  test('buys on Solana, with a key file', async () => {
    const { solana } = rig
    if (solana === null) throw new Error('the rig has a Solana')
    const { buyer } = solana.accounts
    const file = join(folder, 'wallet.json')
    await writeFile(file, buyer.walletFile)
    const before = solana.balanceOf(buyer.address)
    const args = ['/oi/BTC', '--key-file', file, '--solana-rpc-url', solana.rpcUrl, '--yes']
    const { code, errors } = await buy(args)
    expect(code, errors).toBe(0)
    expect(errors).toMatch(/^paid 0\.015 USDC on Solana, transaction \w+$/m)
    expect(before - solana.balanceOf(buyer.address)).toBe(15_000n)
  })

  test('reads a key from a file and from the variable, and prints one report', async () => {
    const { key, spent } = await wallet()
    const file = join(folder, 'base.key')
    await writeFile(file, `${key}\n`)
    const { output } = await buyHere(['funding/BTC', '--key-file', file, '--yes', '--json'])
    expect(JSON.parse(output)).toMatchObject({
      path: '/funding/BTC',
      charged: true,
      price_usdc: 0.01,
      payee: rig.chain.accounts.merchant.address,
      receipt: { success: true, network: 'eip155:8453' },
      answer: { coin: 'BTC' },
    })
    const env = { PERPSCOPE_WALLET_KEY: key }
    expect((await buy(['/funding/BTC', '--yes'], env)).code).toBe(0)
    expect(await spent()).toBe(20_000n)
  })

  test('without consent and without a terminal pays nothing', async () => {
    const { key, spent } = await wallet()
    const { code, output, errors } = await buy(['/pulse/BTC', '--key', key])
    expect({ code, output }).toEqual({ code: 2, output: '' })
    expect(errors).toMatch(/costs 0\.025 USDC on Base to 0x\w+: give --yes/)
    expect(await spent()).toBe(0n)
  })

  test('without a key states the price and how to set a key', async () => {
    const refused = buyHere(['/pulse/BTC', '--yes'])
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(
      'the call costs 0.025 USDC on Base, or 0.025 USDC on Solana: give a key',
    )
  })

  test.each([
    ['more than it may cost', ['--max-usd', '0.01'], 'the call costs 0.025 USDC, more than 0.01'],
    ['another payee', ['--payee', `0x${'a'.repeat(40)}`], 'not an accepted payee'],
  ])('signs nothing for %s', async (_what, flags, says) => {
    const { key, spent } = await wallet()
    const { code, errors } = await buyHere(['/pulse/BTC', '--key', key, '--yes', ...flags])
    expect(code).toBe(1)
    expect(errors).toContain(says)
    expect(errors).toContain('Nothing was charged.')
    expect(await spent()).toBe(0n)
  })

  test('with an empty wallet states the reason, and that nothing was charged', async () => {
    const { code, errors } = await buyHere(['/pulse/BTC', '--key', generatePrivateKey(), '--yes'])
    expect(code).toBe(1)
    expect(errors).toMatch(/the payment was refused: .*insufficient.*\nNothing was charged\./)
  })

  test('prints a refusal with its suggestion', async () => {
    const { code, output, errors } = await buyHere(['/pulse/BCT'])
    expect({ code, output }).toEqual({ code: 1, output: '' })
    expect(errors.split('\n')).toEqual([
      expect.stringMatching(/^perpscope: Unknown coin: No perpetual is listed as "BCT"/),
      expect.stringMatching(/^Did you mean .*BTC/),
      'Nothing was charged.',
    ])
    const report = JSON.parse((await buyHere(['/pulse', '--json'])).output)
    expect(report).toMatchObject({ charged: false, problem: { did_you_mean: ['/pulse/{coin}'] } })
  })

  test.each(['/coins', '/llms.txt', '/sample/pulse?view=compact'])(
    'just prints %s',
    async (path) => {
      const { code, output, errors } = await buyHere([path])
      expect({ code, errors }).toEqual({ code: 0, errors: '' })
      const response = await fetch(rig.url + path)
      if (path === '/coins') expect(JSON.parse(output).coins).toContain('BTC')
      else expect(output.trim()).toBe((await response.text()).trim())
    },
  )

  test('reports an unreachable service, and what to check', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const { code, errors } = await buy(['/coins', '--url', url])
    expect(code).toBe(1)
    expect(errors).toMatch(/^perpscope: http:\S+ does not answer; .*--url.*ECONNREFUSED/)
  })

  test('keeps a payment without an answer, and gets the answer with it', async () => {
    const { key, spent } = await wallet()
    // Closes the connection of paid requests, as a proxy may.
    const proxy = createServer((from, to) => {
      if (from.headers['payment-signature'] !== undefined) from.socket.destroy()
      else
        from.pipe(
          request(rig.url + from.url, { headers: from.headers }, (answer) => {
            to.writeHead(answer.statusCode ?? 0, answer.headers)
            answer.pipe(to)
          }),
        )
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    // Retries are immediate here, so they must not be used up while the answer is not sold yet.
    await untilSold(rig.url, oi.contract, 'BTC')
    vi.spyOn(systemClock, 'after').mockImplementation((_ms, then) => {
      setImmediate(then)
      return () => undefined
    })
    const lost = await buyHere(['/oi/BTC', '--url', url, '--key', key, '--yes'])
    vi.restoreAllMocks()
    proxy.close()
    expect({ code: lost.code, output: lost.output }).toEqual({ code: 3, output: '' })
    expect(await spent()).toBe(0n)
    const [, payment = ''] = /^perpscope buy \/oi\/BTC .* --resume (\S+)$/m.exec(lost.errors) ?? []
    const found = await buy(['/oi/BTC', '--resume', payment])
    expect(found.code, found.errors).toBe(0)
    expect(JSON.parse(found.output)).toMatchObject({ coin: 'BTC' })
    expect(await spent()).toBe(15_000n)
  })

  test.each([
    ['is not there', join(tmpdir(), 'absent.key'), 'cannot be read'],
    ['contains no key', import.meta.filename, 'contains neither'],
  ])('with a key file that %s is wrong usage', async (_what, file, says) => {
    const refused = buyHere(['/pulse/BTC', '--key-file', file])
    await expect(refused).rejects.toThrow(UsageError)
    await expect(refused).rejects.toThrow(says)
  })
})
