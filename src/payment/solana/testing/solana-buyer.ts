import { createHash } from 'node:crypto'
import type { Address, Instruction } from '@solana/kit'
import {
  AccountRole,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createTransactionMessage,
  getAddressDecoder,
  getBase64EncodedWireTransaction,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { newSecret } from '../../testing/new-secret.ts'
import type { Ed25519Key } from '../ed25519.ts'
import { ed25519Key } from '../ed25519.ts'
import type { SolanaNetwork } from '../networks.ts'
import { solanaMainnet, USDC_DECIMALS } from '../networks.ts'
import { COMPUTE_BUDGET_PROGRAM, MEMO_PROGRAM, TOKEN_PROGRAM_ADDRESS } from '../programs.ts'
import { associatedTokenAccount } from '../token-account.ts'

export type SolanaBuyer = { readonly address: Address; readonly key: Ed25519Key }

/** Everything about a payment that a test may want to get wrong. */
export type SolanaPaymentChoices = {
  readonly amount: bigint
  readonly payTo: Address
  readonly feePayer: Address
  readonly blockhash: string
  readonly version?: 'legacy' | 0
  readonly mint?: Address
  readonly decimals?: number
  readonly authority?: Address
  readonly source?: Address
  readonly destination?: Address
  readonly units?: number
  readonly microlamports?: bigint
  readonly memo?: string
  /** Changes the list of instructions before it is signed. */
  readonly edit?: (instructions: readonly Instruction[]) => readonly Instruction[]
}

let buyers = 0

/** A new key each time, the same ones in each run. */
export function newSolanaBuyer(name = 'buyer'): SolanaBuyer {
  buyers += 1
  const key = ed25519Key(createHash('sha256').update(`${name} ${buyers}`).digest())
  return { key, address: getAddressDecoder().decode(key.publicKey) }
}

/** @returns the transaction in base64, with the buyer's signature over whatever was chosen */
export async function signedTransfer(
  buyer: SolanaBuyer,
  choices: SolanaPaymentChoices,
): Promise<string> {
  const message = setTransactionMessageLifetimeUsingBlockhash(
    { blockhash: blockhash(choices.blockhash), lastValidBlockHeight: 0n },
    setTransactionMessageFeePayer(
      choices.feePayer,
      appendTransactionMessageInstructions(
        await instructionsOf(buyer, choices),
        createTransactionMessage({ version: choices.version ?? 0 }),
      ),
    ),
  )
  const transaction = compileTransaction(message)
  const isSigner = buyer.address in transaction.signatures
  const signature = buyer.key.sign(Uint8Array.from(transaction.messageBytes))
  const signatures = {
    ...transaction.signatures,
    ...(isSigner && { [buyer.address]: signature }),
  } as typeof transaction.signatures
  return getBase64EncodedWireTransaction({ ...transaction, signatures })
}

/** A payment object as a client sends it. */
export function solanaPayload(
  transaction: string,
  choices: Pick<SolanaPaymentChoices, 'amount' | 'payTo' | 'feePayer'> & {
    readonly x402Version?: 1 | 2
    readonly network?: SolanaNetwork
  },
) {
  const { amount, payTo, feePayer, x402Version = 2, network = solanaMainnet } = choices
  const payload = { transaction }
  if (x402Version === 1)
    return { x402Version, scheme: 'exact', network: network.legacyName, payload }
  const accepted = {
    scheme: 'exact',
    network: network.network,
    asset: network.asset,
    amount: amount.toString(),
    payTo,
    maxTimeoutSeconds: 120,
    extra: { feePayer },
  }
  // As clients echo it from a quote.
  const extensions = { 'answer-access': { info: { secret: newSecret() } } }
  return { x402Version, accepted, payload, extensions }
}

export function memoInstruction(text: string): Instruction {
  return { programAddress: MEMO_PROGRAM, accounts: [], data: Buffer.from(text) }
}

async function instructionsOf(
  buyer: SolanaBuyer,
  choices: SolanaPaymentChoices,
): Promise<readonly Instruction[]> {
  const { payTo, mint = solanaMainnet.asset, memo = 'a nonce', edit = (all) => all } = choices
  const authority = choices.authority ?? buyer.address
  const limit = Buffer.alloc(5)
  limit.writeUInt8(2)
  limit.writeUInt32LE(choices.units ?? 20_000, 1)
  const price = Buffer.alloc(9)
  price.writeUInt8(3)
  price.writeBigUInt64LE(choices.microlamports ?? 1n, 1)
  return edit([
    { programAddress: COMPUTE_BUDGET_PROGRAM, accounts: [], data: limit },
    { programAddress: COMPUTE_BUDGET_PROGRAM, accounts: [], data: price },
    transferInstruction({
      source: choices.source ?? (await associatedTokenAccount(authority, mint)),
      mint,
      destination: choices.destination ?? (await associatedTokenAccount(payTo, mint)),
      authority,
      amount: choices.amount,
      decimals: choices.decimals ?? USDC_DECIMALS,
    }),
    memoInstruction(memo),
  ])
}

export function transferInstruction(transfer: {
  readonly source: Address
  readonly mint: Address
  readonly destination: Address
  readonly authority: Address
  readonly amount: bigint
  readonly decimals: number
}): Instruction {
  const data = Buffer.alloc(10)
  data.writeUInt8(12)
  data.writeBigUInt64LE(transfer.amount, 1)
  data.writeUInt8(transfer.decimals, 9)
  return {
    programAddress: TOKEN_PROGRAM_ADDRESS,
    accounts: [
      { address: transfer.source, role: AccountRole.WRITABLE },
      { address: address(transfer.mint), role: AccountRole.READONLY },
      { address: transfer.destination, role: AccountRole.WRITABLE },
      { address: transfer.authority, role: AccountRole.READONLY_SIGNER },
    ],
    data,
  }
}
