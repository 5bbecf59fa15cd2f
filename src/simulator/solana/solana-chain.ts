import type { Address } from '@solana/kit'
import { address, createKeyPairSignerFromPrivateKeyBytes, getAddressEncoder } from '@solana/kit'
import { sha256, stringToBytes } from 'viem'
import type { Clock } from '../../domain/clock.ts'
import { Bank } from './bank.ts'
import { GENESIS_HASH, nodeCalls } from './node-calls.ts'
import { startNode } from './node-server.ts'
import {
  mintData,
  TOKEN_ACCOUNT_BYTES,
  TOKEN_PROGRAM,
  tokenAccountData,
  tokenAccountOf,
  tokenAmount,
} from './token-program.ts'

type DevAccount = {
  readonly address: Address
  /** The 32 bytes that a key pair is made of. */
  readonly seed: Uint8Array
  /** As a wallet keeps its key: seed and public key, 64 numbers as JSON. */
  readonly walletFile: string
}

/** A Solana of one's own: the main net's genesis hash, USDC at its real address, the real programs. */
export type SolanaChain = {
  readonly rpcUrl: string
  /** CAIP-2. */
  readonly network: string
  readonly usdc: Address
  readonly accounts: {
    /** Pays the fees of settlements. */
    readonly facilitator: DevAccount
    /** Is paid; its account for USDC exists. */
    readonly merchant: DevAccount
    /** Holds USDC from the start, and no SOL. */
    readonly buyer: DevAccount
  }
  /** USDC in its smallest unit, in the associated account of `owner`. */
  balanceOf(owner: string): bigint
  lamportsOf(owner: string): bigint
  /** Mints, into the associated account of `owner`, which comes to be. */
  fundUsdc(owner: string, atomic: bigint): void
  setLamports(owner: string, lamports: bigint): void
  /** No transaction that is signed already will be accepted any more. */
  expireBlockhashes(): void
  /** Transactions are accepted, and no block takes them, until `release`. */
  hold(): void
  release(): void
  /** How many wait. */
  held(): number
  /** What waits is forgotten. */
  drop(): void
  close(): Promise<void>
}

export type SolanaChainOptions = {
  readonly clock: Clock
  readonly confirmationMs?: number
  readonly port?: number
}

const USDC = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')
const USDC_DECIMALS = 6
const SUPPLY_ATOMIC = 10n ** 16n
const BUYER_USDC_ATOMIC = 1_000_000_000n
const FACILITATOR_LAMPORTS = 1_000_000_000n

/** Starts a chain in this process and its node on loopback. There are no websockets: signatures are polled. */
export async function startSolanaChain(options: SolanaChainOptions): Promise<SolanaChain> {
  const { clock, confirmationMs = 0, port = 0 } = options
  const bank = new Bank({ clock, confirmationMs })
  const [facilitator, merchant, buyer] = await Promise.all(
    (['facilitator', 'merchant', 'buyer'] as const).map(devAccount),
  )
  if (facilitator === undefined || merchant === undefined || buyer === undefined)
    throw new TypeError('three names make three accounts')

  const balanceOf = (owner: string) => {
    const account = bank.account(tokenAccountOf(address(owner), USDC))
    return account === null ? 0n : tokenAmount(account.data)
  }
  const fundUsdc = (owner: string, atomic: bigint) => {
    const data = tokenAccountData(USDC, address(owner), balanceOf(owner) + atomic)
    const rent = bank.rentExemptLamports(TOKEN_ACCOUNT_BYTES)
    bank.setAccount(tokenAccountOf(address(owner), USDC), TOKEN_PROGRAM, data, rent)
  }
  const mint = mintData(SUPPLY_ATOMIC, USDC_DECIMALS)
  bank.setAccount(USDC, TOKEN_PROGRAM, mint, bank.rentExemptLamports(mint.length))
  bank.setLamports(facilitator.address, FACILITATOR_LAMPORTS)
  fundUsdc(merchant.address, 0n)
  fundUsdc(buyer.address, BUYER_USDC_ATOMIC)

  const node = await startNode(nodeCalls(bank), port)
  return {
    rpcUrl: node.url,
    network: `solana:${GENESIS_HASH.slice(0, 32)}`,
    usdc: USDC,
    accounts: { facilitator, merchant, buyer },
    balanceOf,
    lamportsOf: (owner) => bank.account(owner)?.lamports ?? 0n,
    fundUsdc,
    setLamports: (owner, lamports) => bank.setLamports(address(owner), lamports),
    expireBlockhashes: () => bank.expireBlockhashes(),
    hold: () => bank.hold(),
    release: () => bank.release(),
    held: () => bank.held,
    drop: () => bank.drop(),
    close: node.close,
  }
}

/** Their keys follow from their names, so they are public: never fund them. */
async function devAccount(name: string): Promise<DevAccount> {
  const seed = sha256(stringToBytes(`perpscope development account: ${name}`), 'bytes')
  const signer = await createKeyPairSignerFromPrivateKeyBytes(seed)
  const walletFile = JSON.stringify([...seed, ...getAddressEncoder().encode(signer.address)])
  return { address: signer.address, seed, walletFile }
}
