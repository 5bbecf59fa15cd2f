import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getBase58Decoder } from '@solana/kit'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { pulse } from '../../src/compute/analyses/pulse/pulse.ts'
import { sentiment } from '../../src/compute/analyses/sentiment/sentiment.ts'
import { end, firstLineOf, launch } from '../../src/roles/child-process.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import { systemClock } from '../../src/roles/system-clock.ts'
import { startEvmChain } from '../../src/simulator/evm/evm-chain.ts'
import { startSolanaChain } from '../../src/simulator/solana/solana-chain.ts'
import { fewCoins, until, untilSold } from '../support/service.ts'
import { startBaseSepolia } from './base-sepolia.ts'

const MAIN = join(import.meta.dirname, '../../dist/main.js')
const FUNDS_ATOMIC = 10_000_000n

export type Network = 'base' | 'base-sepolia' | 'solana'

/** The service with one way to pay, and a buyer on that chain. */
export type Stage = {
  readonly url: string
  readonly path: string
  readonly pathPriceAtomic: bigint
  readonly tool: string
  readonly toolPriceAtomic: bigint
  /** Variables of a client by the harness's protocol, without server and path. */
  readonly clientEnv: Readonly<Record<string, string>>
  balanceAtomic(): Promise<bigint>
  close(): Promise<void>
}

type Chain = Pick<Stage, 'clientEnv' | 'balanceAtomic' | 'close'> & {
  readonly flags: readonly string[]
  readonly keys: Readonly<Record<string, string>>
  whenSold(quoteUrl: string): Promise<void>
}

type Version1Quote = { readonly accepts: readonly { readonly network: string }[] }

export async function startStage(network: Network): Promise<Stage> {
  const cleanups: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  }
  try {
    const chain = network === 'solana' ? await solana() : await evm(network)
    cleanups.push(() => chain.close())
    const dataDir = await mkdtemp(join(tmpdir(), 'perpscope-conformance-data-'))
    cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
    const simulator = launch(
      MAIN,
      ['simulate', ...fewCoins, '--past', dataDir, '--weight-per-minute', '60000'],
      'pipe',
    )
    cleanups.push(() => end(simulator))
    const { venue } = JSON.parse(await firstLineOf(simulator)) as { venue: { http: string } }
    const [port, adminPort] = [await freePort(), await freePort()]
    const service = launch(
      MAIN,
      [
        ...['serve', '--source', venue.http, '--data-dir', dataDir, '--log-level', 'error'],
        ...['--weight-per-minute', '50000'],
        ...['--port', String(port), '--admin-port', String(adminPort), '--trust-proxy', 'loopback'],
        ...chain.flags,
      ],
      'ignore',
      chain.keys,
    )
    cleanups.push(() => end(service))
    const url = `http://127.0.0.1:${port}`
    for (const { contract } of [pulse, sentiment]) await untilSold(url, contract, 'BTC')
    await chain.whenSold(`${url}/pulse/BTC`)
    return {
      url,
      path: '/pulse/BTC',
      pathPriceAtomic: pulse.contract.priceUsdcAtomic,
      tool: 'get_sentiment',
      toolPriceAtomic: sentiment.contract.priceUsdcAtomic,
      clientEnv: chain.clientEnv,
      balanceAtomic: chain.balanceAtomic,
      close,
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

async function evm(network: 'base' | 'base-sepolia'): Promise<Chain> {
  const isTestnet = network === 'base-sepolia'
  const chain = isTestnet ? await startBaseSepolia() : await startEvmChain({ clock: systemClock })
  const key = generatePrivateKey()
  const { address } = privateKeyToAccount(key)
  await chain.fundUsdc(address, FUNDS_ATOMIC)
  return {
    flags: [
      ...['--pay-to', chain.accounts.merchant.address, '--rpc-url', chain.rpcUrl],
      ...['--network', network],
    ],
    keys: { PERPSCOPE_FACILITATOR_KEY: chain.accounts.facilitator.privateKey },
    clientEnv: {
      EVM_PRIVATE_KEY: key,
      EVM_NETWORK: `eip155:${chain.chainId}`,
      EVM_RPC_URL: chain.rpcUrl,
      SVM_PRIVATE_KEY: solanaKey().secret,
    },
    balanceAtomic: () => chain.balanceOf(address),
    whenSold: async () => undefined,
    close: () => chain.close(),
  }
}

async function solana(): Promise<Chain> {
  const base = await startEvmChain({ clock: systemClock })
  const chain = await startSolanaChain({ clock: systemClock })
  const { address, secret } = solanaKey()
  chain.fundUsdc(address, FUNDS_ATOMIC)
  const { merchant, facilitator } = chain.accounts
  return {
    flags: [
      ...['--solana-pay-to', merchant.address, '--solana-rpc-url', chain.rpcUrl],
      ...['--pay-to', base.accounts.merchant.address, '--rpc-url', base.rpcUrl],
    ],
    keys: {
      PERPSCOPE_FACILITATOR_KEY: base.accounts.facilitator.privateKey,
      PERPSCOPE_SOLANA_FACILITATOR_KEY: JSON.stringify([...facilitator.seed]),
    },
    clientEnv: {
      EVM_PRIVATE_KEY: generatePrivateKey(),
      SVM_PRIVATE_KEY: secret,
      SOLANA_NODE: chain.rpcUrl,
    },
    balanceAtomic: async () => chain.balanceOf(address),
    // Base is always configured. Without its node it is not offered, and clients that pay on both chains pay here.
    whenSold: async (quoteUrl) => {
      await base.close()
      await until('Solana alone is offered', async () => {
        const quote = (await (await fetch(quoteUrl)).json()) as Version1Quote
        return quote.accepts.every((offer) => offer.network === 'solana')
      })
    },
    close: () => chain.close(),
  }
}

/** The secret is seed and public key in base58, as wallets export it. */
function solanaKey() {
  const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const publicKey = Buffer.from(x, 'base64url')
  const secret = Buffer.concat([Buffer.from(d, 'base64url'), publicKey])
  const base58 = getBase58Decoder()
  return { address: base58.decode(publicKey), secret: base58.decode(secret) }
}
