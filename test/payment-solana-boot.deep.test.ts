import { address } from '@solana/kit'
import { Command } from 'commander'
import Fastify from 'fastify'
import pino from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkServeOptions } from '../src/config/check-serve.ts'
import type { ServeOptions } from '../src/config/serve.ts'
import { serveOptions } from '../src/config/serve.ts'
import { HostedFacilitators } from '../src/payment/facilitators/hosted-facilitators.ts'
import { solanaDevnet, solanaMainnet } from '../src/payment/solana/networks.ts'
import { newSolanaBuyer } from '../src/payment/solana/testing/solana-buyer.ts'
import { associatedTokenAccount } from '../src/payment/solana/token-account.ts'
import { solanaPayment } from '../src/roles/solana-payment.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { SolanaChain } from '../src/simulator/solana/solana-chain.ts'
import { startSolanaChain } from '../src/simulator/solana/solana-chain.ts'

const BASE = ['--pay-to', `0x${'a1'.repeat(20)}`, '--public-url', 'http://x.y']
// Tests use no public node.
const ON_BASE = [...BASE, '--facilitator-url', 'http://127.0.0.1:1', '--outcome-node', 'off']

let chain: SolanaChain
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  chain = await startSolanaChain({ clock: systemClock })
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((thing) => thing.close()))
})

afterAll(() => chain?.close())

function parsed(args: readonly string[]): ServeOptions {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  for (const option of serveOptions) command.addOption(option)
  return command.parse(args, { from: 'user' }).opts<ServeOptions>()
}

const keyOf = (seed: Uint8Array) => JSON.stringify([...seed])

/** Valid options, with changes. */
function settings(changes: Readonly<Record<string, string | undefined>> = {}) {
  const all = {
    '--solana-pay-to': chain.accounts.merchant.address,
    '--solana-rpc-url': chain.rpcUrl,
    '--solana-facilitator-key': keyOf(chain.accounts.facilitator.seed),
    ...changes,
  }
  const given = Object.entries(all).filter(([, value]) => value !== undefined)
  return parsed([...ON_BASE, ...given.flat().map(String)])
}

const warnings: string[] = []
const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) })

const started = (changes?: Parameters<typeof settings>[0]) =>
  solanaPayment(settings(changes), log, null, new Registry())

describe('a service that is paid on Solana', () => {
  test('and is complete offers it with our fee payer', async () => {
    expect(await started()).toMatchObject({
      scheme: 'exact',
      legacyName: 'solana',
      payTo: chain.accounts.merchant.address,
      extra: { feePayer: chain.accounts.facilitator.address },
    })
  })

  test('shows its remaining balance for fees', async () => {
    const metrics = new Registry()
    await solanaPayment(settings(), log, null, metrics)
    const { address } = chain.accounts.facilitator
    const sol = Number(chain.lamportsOf(address)) / 1e9
    const shown = async () => await metrics.getSingleMetric('perpscope_fee_balance_sol')?.get()
    await expect.poll(async () => (await shown())?.values[0]?.value).toBe(sol)
  })

  test('requires a payee', async () => {
    expect(await solanaPayment(parsed(ON_BASE), log, null, new Registry())).toBeNull()
  })

  test.each([
    ['of another cluster', () => ({ '--solana-network': 'devnet' }), /--solana-network is/],
    [
      'that pays nobody',
      () => ({ '--solana-pay-to': newSolanaBuyer().address }),
      /no USDC token account/,
    ],
    [
      'that pays an account in place of a wallet',
      async () => ({
        '--solana-pay-to': await associatedTokenAccount(
          address(chain.accounts.merchant.address),
          solanaMainnet.asset,
        ),
      }),
      /is a token account of \w+, not a wallet/,
    ],
    ['that pays the token itself', () => ({ '--solana-pay-to': chain.usdc }), /is a mint/],
    [
      'whose fee payer has no SOL',
      () => ({ '--solana-facilitator-key': keyOf(chain.accounts.buyer.seed) }),
      /has 0 SOL, too little for its rent and one fee/,
    ],
    [
      'whose fee payer is the payee',
      () => ({ '--solana-pay-to': chain.accounts.facilitator.address }),
      /is also the fee payer/,
    ],
  ])('%s does not start', async (_what, changes, message) => {
    const { facilitator } = chain.accounts
    chain.fundUsdc(facilitator.address, 0n)
    await expect(started(await changes())).rejects.toThrow(message)
  })

  test('with an invalid key does not start, and does not show it', async () => {
    const wrong = 'thisIsNoKey'
    const failure = await started({ '--solana-facilitator-key': wrong }).catch(String)
    expect(failure).toMatch(/--solana-facilitator-key is not a key/)
    expect(failure).not.toContain(wrong)
  })

  test('whose fee payer is nearly empty starts with a warning', async () => {
    const { address } = chain.accounts.facilitator
    const lamports = chain.lamportsOf(address)
    onTestFinished(() => chain.setLamports(address, lamports))
    chain.setLamports(address, 1_000_000n)
    expect(await started()).not.toBeNull()
    expect(warnings.at(-1)).toContain('enough for 10 settlements')
  })

  test('whose node is down starts with a warning without its URL', async () => {
    expect(await started({ '--solana-rpc-url': 'http://127.0.0.1:1/secret' })).not.toBeNull()
    expect(warnings.at(-1)).toContain('does not answer')
    expect(warnings.at(-1)).not.toContain('secret')
  })
})

describe('a service with an external facilitator', () => {
  async function hostedBy(extra: object, network = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp') {
    const app = Fastify({ forceCloseConnections: true })
    const kinds = [{ x402Version: 2, scheme: 'exact', network, extra }]
    app.get('/supported', () => ({ kinds, extensions: [], signers: {} }))
    opened.push(app)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    return new HostedFacilitators({ addresses: [{ url }], clock: systemClock, chance: () => 0 })
  }

  const bare = () =>
    settings({ '--solana-facilitator-key': undefined, '--solana-rpc-url': undefined })

  test('offers Solana with the fee payer of the facilitator', async () => {
    const feePayer = newSolanaBuyer().address
    const method = await solanaPayment(bare(), log, await hostedBy({ feePayer }), new Registry())
    expect(method?.extra).toEqual({ feePayer })
  })

  test('asks a public node, if none is configured, about the payee and the outcome of payments', async () => {
    const { address: feePayer } = newSolanaBuyer()
    const nodes = { [solanaMainnet.network]: chain.rpcUrl }
    const at = async (payee: string) =>
      solanaPayment(
        settings({
          '--solana-facilitator-key': undefined,
          '--solana-rpc-url': undefined,
          '--solana-pay-to': payee,
          '--outcome-node': 'on',
        }),
        log,
        await hostedBy({ feePayer }),
        new Registry(),
        null,
        nodes,
      )
    expect(await at(chain.accounts.merchant.address)).toMatchObject({ extra: { feePayer } })
    await expect(at(newSolanaBuyer().address)).rejects.toThrow(/no USDC token account/)
  })

  test.each([
    ['names nobody', {}],
    ['names what is no address', { feePayer: 'me' }],
  ])('offers none where it %s', async (_what, extra) => {
    const method = await solanaPayment(bare(), log, await hostedBy(extra), new Registry())
    expect(method, 'it reads what was bought before').toMatchObject({ isSuspended: true })
    expect(warnings.at(-1)).toContain('nothing is sold there')
  })

  test('does not offer Solana if the facilitator settles on another cluster', async () => {
    const { address: feePayer } = newSolanaBuyer()
    const hosted = await hostedBy({ feePayer }, solanaDevnet.network)
    const method = await solanaPayment(bare(), log, hosted, new Registry())
    expect(method).toMatchObject({ isSuspended: true })
  })
})

describe('options', () => {
  const payTo = newSolanaBuyer().address

  test.each([
    ['a node without a payee', ['--solana-rpc-url', 'http://127.0.0.1:1'], /--solana-pay-to/],
    ['a key without a payee', ['--solana-facilitator-key', 'x'], /--solana-pay-to/],
    [
      'a key without a node',
      ['--solana-pay-to', payTo, '--solana-facilitator-key', 'x'],
      /needs --solana-rpc-url/,
    ],
  ])('with %s are refused', (_what, args, message) => {
    expect(() => checkServeOptions(parsed([...ON_BASE, ...args]))).toThrow(message)
  })

  test('without a settler on Solana are refused', () => {
    const own = ['--rpc-url', 'http://127.0.0.1:1', '--facilitator-key', `0x${'1'.repeat(64)}`]
    const options = parsed([...BASE, ...own, '--solana-pay-to', payTo])
    expect(() => checkServeOptions(options)).toThrow(/no facilitator for Solana is configured/)
  })

  test('with a payee that is our own key, or missing, are refused', async () => {
    const { facilitator, merchant } = chain.accounts
    const account = await associatedTokenAccount(address(merchant.address), solanaMainnet.asset)
    for (const [payee, words] of [
      [facilitator.address, /is also the fee payer/],
      [account, /off the curve/],
      [chain.usdc, /mint of USDC/],
    ] as const)
      expect(() => checkServeOptions(settings({ '--solana-pay-to': payee }))).toThrow(words)
  })

  test('with an invalid address are refused', () => {
    expect(() => parsed(['--solana-pay-to', '0xdead'])).toThrow(/not 32 bytes in base58/)
  })

  test('that are complete are accepted', () => {
    expect(() => checkServeOptions(settings())).not.toThrow()
  })
})
