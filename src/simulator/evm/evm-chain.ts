import type { Address, Hex } from 'viem'
import {
  createTestClient,
  encodeFunctionData,
  http,
  parseAbi,
  publicActions,
  TransactionReceiptNotFoundError,
  toHex,
  walletActions,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import type { Clock } from '../../domain/clock.ts'
import { startAnvil } from './anvil-process.ts'
import channels from './channels/channels.json' with { type: 'json' }
import artefact from './token/usd-coin.json' with { type: 'json' }

type DevAccount = { readonly address: Address; readonly privateKey: Hex }

/** A Base of one's own: real chain id, USDC at its real address, so nothing else must be configured. */
export type EvmChain = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly usdc: Address
  readonly pid: number
  readonly accounts: {
    /** Pays gas for settlements. */
    readonly facilitator: DevAccount
    /** Is paid. */
    readonly merchant: DevAccount
    /** Holds USDC from the start, and no reason to hold anything else. */
    readonly buyer: DevAccount
  }
  balanceOf(address: Address): Promise<bigint>
  /** Mints. `atomic` is counted in millionths of a USDC. */
  fundUsdc(address: Address, atomic: bigint): Promise<void>
  close(): Promise<void>
}

export type EvmChainOptions = {
  readonly clock: Clock
}

/** The development mnemonic that anvil, hardhat and others share. Its keys are public: never fund them. */
const MNEMONIC = 'test test test test test test test test test test test junk'
const USDC: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
/** Where x402's scheme `batch-settlement` has them on every chain. */
const BATCH_SETTLEMENT: Address = '0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003'
const DEPOSIT_COLLECTOR: Address = '0x4020806089470a89826cB9fB1f4059150b550004'
const BUYER_USDC_ATOMIC = 1_000_000_000n

const tokenAbi = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function mint(address to, uint256 value)',
])

export async function startEvmChain({ clock }: EvmChainOptions): Promise<EvmChain> {
  const anvil = await startAnvil(
    [...['--chain-id', String(base.id), '--mnemonic', MNEMONIC, '--accounts', '4']],
    clock,
  )
  const client = createTestClient({
    mode: 'anvil',
    chain: base,
    transport: http(anvil.rpcUrl),
    pollingInterval: 50,
  })
    .extend(publicActions)
    .extend(walletActions)

  const balanceOf = (address: Address) =>
    client.readContract({
      address: USDC,
      abi: tokenAbi,
      functionName: 'balanceOf',
      args: [address],
    })
  /** viem's own wait asks once a block, and without a further block for ever if its first question comes too early. */
  const mined = async (hash: Hex) => {
    while (!(await hasReceipt(hash))) await new Promise<void>((resolve) => clock.after(50, resolve))
  }
  const hasReceipt = (hash: Hex) =>
    client.getTransactionReceipt({ hash }).then(
      () => true,
      (cause) => {
        if (cause instanceof TransactionReceiptNotFoundError) return false
        throw cause
      },
    )
  const mint = async (address: Address, atomic: bigint) => {
    const hash = await client.sendTransaction({
      account: devAccount(0).address,
      to: USDC,
      data: encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [address, atomic] }),
    })
    await mined(hash)
  }
  // One after the other: anvil assigns one nonce twice to concurrent calls.
  let minted: Promise<unknown> = Promise.resolve()
  const fundUsdc = (address: Address, atomic: bigint) => {
    const turn = minted.then(() => mint(address, atomic))
    minted = turn.catch(() => undefined)
    return turn
  }

  try {
    const [facilitator, merchant, buyer] = [devAccount(1), devAccount(2), devAccount(3)]
    await client.setCode({ address: USDC, bytecode: hex(artefact.usdCoin) })
    await client.setCode({ address: MULTICALL3, bytecode: hex(artefact.multicall) })
    await client.setCode({ address: BATCH_SETTLEMENT, bytecode: hex(channels.batchSettlement) })
    await client.setCode({ address: DEPOSIT_COLLECTOR, bytecode: hex(channels.depositCollector) })
    await fundUsdc(buyer.address, BUYER_USDC_ATOMIC)
    return {
      rpcUrl: anvil.rpcUrl,
      chainId: base.id,
      usdc: USDC,
      pid: anvil.pid,
      accounts: { facilitator, merchant, buyer },
      balanceOf,
      fundUsdc,
      close: anvil.close,
    }
  } catch (cause) {
    await anvil.close()
    throw cause
  }
}

function devAccount(addressIndex: number): DevAccount {
  const account = mnemonicToAccount(MNEMONIC, { addressIndex })
  const privateKey = account.getHdKey().privateKey
  if (privateKey === null) throw new TypeError('a derived account has a private key')
  return { address: account.address, privateKey: toHex(privateKey) }
}

function hex(text: string): Hex {
  if (!text.startsWith('0x')) throw new TypeError('the artefact holds 0x-prefixed code')
  return `0x${text.slice(2)}`
}
