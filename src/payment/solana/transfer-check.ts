import type { Address } from '@solana/addresses'
import { getAddressEncoder } from '@solana/addresses'
import type { Rejection } from '../rejection.ts'
import { rejection } from '../rejection.ts'
import { isSignedBy } from './ed25519.ts'
import { LAMPORTS_PER_SIGNATURE, priorityFeeMax, SIGNERS_MAX } from './fee-share.ts'
import { USDC_DECIMALS } from './networks.ts'
import { COMPUTE_BUDGET_PROGRAM, harmlessPrograms, TOKEN_PROGRAM_ADDRESS } from './programs.ts'
import type { Instruction, WireTransaction } from './wire-transaction.ts'

/** Fields of a `TransferChecked` instruction. */
export type Transfer = {
  readonly source: Address
  readonly mint: Address
  readonly destination: Address
  readonly authority: Address
  readonly amount: bigint
  readonly decimals: number
}

/** Required values of the transfer. */
export type TransferTerms = Pick<Transfer, 'source' | 'mint' | 'destination' | 'amount'> & {
  readonly feePayer: Address
  /** Assumed maximum price of SOL, USD; bounds the fees that we pay. */
  readonly solUsdMax: number
}

const INSTRUCTIONS_MIN = 3
const INSTRUCTIONS_MAX = 7
const TRANSFER_AT = 2
/** The client of the SDK requests 20,000; wallet assertions need more. */
const COMPUTE_UNITS_MAX = 200_000
/** 5 lamports a unit: limit of the x402 scheme. */
const MICROLAMPORTS_PER_UNIT_MAX = 5_000_000n
const MICROLAMPORTS_PER_LAMPORT = 1_000_000n

const SET_COMPUTE_UNIT_LIMIT = 2
const SET_COMPUTE_UNIT_PRICE = 3
const TRANSFER_CHECKED = 12
const READ_AGAIN = 'Sign exactly the terms of this response.'
const ORDER_HINT =
  'Send SetComputeUnitLimit, SetComputeUnitPrice, TransferChecked, then optional memos, in this order.'

const keys = getAddressEncoder()

/** @returns null if the third instruction is not a transfer */
export function transferOf({ instructions }: WireTransaction): Transfer | null {
  const instruction = instructions[TRANSFER_AT]
  if (instruction?.program !== TOKEN_PROGRAM_ADDRESS) return null
  const { data, accounts } = instruction
  if (data.length !== 10 || data[0] !== TRANSFER_CHECKED || accounts.length !== 4) return null
  const [source, mint, destination, authority] = accounts
  if (!source || !mint || !destination || !authority) return null
  return {
    ...{ source, mint, destination, authority },
    amount: data.readBigUInt64LE(1),
    decimals: data.readUInt8(9),
  }
}

/**
 * Checks without a node that the transaction is the required transfer and nothing else, that its fees are bounded, and
 * that only the signature of the fee payer is missing.
 */
export function checkTransfer(
  transaction: WireTransaction,
  terms: TransferTerms,
): Rejection | null {
  const transfer = transferOf(transaction)
  return (
    checkShape(transaction) ??
    checkSigners(transaction, terms.feePayer) ??
    checkBudget(transaction, terms) ??
    checkTerms(transfer, terms) ??
    checkRest(transaction) ??
    checkSignature(transaction, transfer?.authority)
  )
}

function checkShape({ lookupTables, instructions }: WireTransaction): Rejection | null {
  if (lookupTables > 0)
    return different(
      'payload_address_lookup_tables',
      'List every account in the transaction; do not use lookup tables.',
      ['transaction.addressTableLookups', 'none', `${lookupTables}`],
    )
  if (instructions.length >= INSTRUCTIONS_MIN && instructions.length <= INSTRUCTIONS_MAX)
    return null
  return different('payload_transaction_instructions_length', ORDER_HINT, [
    'transaction.instructions',
    `${INSTRUCTIONS_MIN} to ${INSTRUCTIONS_MAX}`,
    `${instructions.length}`,
  ])
}

/** The fee payer signs for the fees only. */
function checkSigners(
  { signers, instructions }: WireTransaction,
  feePayer: Address,
): Rejection | null {
  if (signers[0] !== feePayer)
    return different('fee_payer_mismatch', 'Use the fee payer of `extra`.', [
      'transaction.feePayer',
      feePayer,
      `${signers[0]}`,
    ])
  if (signers.length > SIGNERS_MAX)
    return different('payload_excessive_signers', 'Only the fee payer and the payer may sign.', [
      'transaction.signers',
      `at most ${SIGNERS_MAX}`,
      `${signers.length}`,
    ])
  const at = instructions.findIndex(
    ({ program, accounts }) => program === feePayer || accounts.includes(feePayer),
  )
  if (at === -1) return null
  return different(
    'payload_transaction_fee_payer_transferring_funds',
    'Remove the fee payer from every instruction: it pays the fees only.',
    [`transaction.instructions[${at}].accounts`, `without ${feePayer}`, feePayer],
  )
}

/** Fees of a payment transaction, whether it fails or not. */
export function transactionFeeLamports({
  signers,
  instructions: [limit, price],
}: WireTransaction): bigint {
  const signatures = BigInt(signers.length) * LAMPORTS_PER_SIGNATURE
  if (!isBudget(limit, SET_COMPUTE_UNIT_LIMIT, 5)) return signatures
  if (!isBudget(price, SET_COMPUTE_UNIT_PRICE, 9)) return signatures
  return signatures + priorityFee(limit, price)
}

/** Rounded up, as on chain. */
function priorityFee(limit: Instruction, price: Instruction): bigint {
  const microlamports = BigInt(limit.data.readUInt32LE(1)) * price.data.readBigUInt64LE(1)
  return (microlamports + MICROLAMPORTS_PER_LAMPORT - 1n) / MICROLAMPORTS_PER_LAMPORT
}

function checkBudget(
  { instructions: [limit, price] }: WireTransaction,
  terms: TransferTerms,
): Rejection | null {
  const at = (index: number) => `transaction.instructions[${index}]`
  const base = 'payload_transaction_instructions_compute'
  if (!isBudget(limit, SET_COMPUTE_UNIT_LIMIT, 5))
    return different(`${base}_limit_instruction`, ORDER_HINT, [
      at(0),
      'SetComputeUnitLimit',
      describe(limit),
    ])
  if (!isBudget(price, SET_COMPUTE_UNIT_PRICE, 9))
    return different(`${base}_price_instruction`, ORDER_HINT, [
      at(1),
      'SetComputeUnitPrice',
      describe(price),
    ])
  const units = limit.data.readUInt32LE(1)
  if (units > COMPUTE_UNITS_MAX)
    return different(
      `${base}_limit_instruction_too_high`,
      'Request fewer compute units; a transfer needs about 20,000.',
      [`${at(0)}.units`, `at most ${COMPUTE_UNITS_MAX}`, `${units}`],
    )
  const microlamports = price.data.readBigUInt64LE(1)
  const [lamports, lamportsMax] = [
    priorityFee(limit, price),
    priorityFeeMax(terms.amount, terms.solUsdMax),
  ]
  if (microlamports > MICROLAMPORTS_PER_UNIT_MAX || lamports > lamportsMax)
    return different(
      `${base}_price_instruction_too_high`,
      'Lower the priority fee, which the fee payer pays.',
      [
        `${at(1)}.microLamports`,
        `at most ${MICROLAMPORTS_PER_UNIT_MAX}, and ${lamportsMax} lamports in all`,
        `${microlamports}, ${lamports} lamports in all`,
      ],
    )
  return null
}

/** The transfer must equal the terms. */
function checkTerms(transfer: Transfer | null, terms: TransferTerms): Rejection | null {
  const place = `transaction.instructions[${TRANSFER_AT}]`
  if (transfer === null)
    return different('payload_no_transfer_instruction', ORDER_HINT, [
      place,
      "the token program's TransferChecked",
      'another instruction',
    ])
  const differences = [
    ['mint', terms.mint, transfer.mint, 'payload_mint_mismatch'],
    ['decimals', USDC_DECIMALS, transfer.decimals, 'payload_decimals_mismatch'],
    ['destination', terms.destination, transfer.destination, 'payload_recipient_mismatch'],
    ['amount', terms.amount, transfer.amount, 'payload_amount_mismatch'],
    ['source', terms.source, transfer.source, 'payload_source_mismatch'],
  ] as const
  for (const [name, expected, received, reason] of differences) {
    if (received === expected) continue
    const hint =
      name === 'source' ? 'Pay from the associated token account of the wallet.' : READ_AGAIN
    return different(reason, hint, [`${place}.${name}`, `${expected}`, `${received}`])
  }
  return null
}

function checkRest({ instructions }: WireTransaction): Rejection | null {
  const foreign = instructions.findIndex(
    ({ program }, at) => at > TRANSFER_AT && !harmlessPrograms.has(program),
  )
  if (foreign === -1) return null
  return different('payload_unknown_optional_instruction', ORDER_HINT, [
    `transaction.instructions[${foreign}].program`,
    'Memo or Lighthouse',
    `${instructions[foreign]?.program}`,
  ])
}

/** The second signer must own the tokens. */
function checkSignature(
  { signers, signatures, message }: WireTransaction,
  authority: Address | undefined,
): Rejection | null {
  const [, payer] = signers
  const [, signature] = signatures
  if (payer !== undefined && payer === authority && signature !== undefined)
    if (isSignedBy(Uint8Array.from(keys.encode(payer)), message, signature)) return null
  return different('payload_signature_invalid', 'Sign the final transaction with the paying key.', [
    'transaction.signatures[1]',
    `of ${authority}`,
    'no valid signature',
  ])
}

function isBudget(
  instruction: Instruction | undefined,
  kind: number,
  bytes: number,
): instruction is Instruction {
  if (instruction?.program !== COMPUTE_BUDGET_PROGRAM) return false
  return instruction.data.length === bytes && instruction.data[0] === kind
}

function describe(instruction: Instruction | undefined): string {
  return `an instruction of ${instruction?.program}`
}

/** Reasons as in the facilitator of the x402 SDK. */
function different(
  reason: string,
  hint: string,
  [field, expected, received]: readonly [string, string, string],
): Rejection {
  return rejection(`invalid_exact_svm_${reason}`, hint, { field, expected, received })
}
