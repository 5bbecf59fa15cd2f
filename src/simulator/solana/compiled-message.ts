import { getCompiledTransactionMessageDecoder } from '@solana/kit'

const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'
const SET_COMPUTE_UNIT_LIMIT = 2
const SET_COMPUTE_UNIT_PRICE = 3
const LAMPORTS_PER_SIGNATURE = 5_000
/** Of one instruction, where a transaction says nothing. */
const COMPUTE_UNITS_DEFAULT = 200_000
const MICROLAMPORTS_PER_LAMPORT = 1_000_000

export type CompiledMessage = ReturnType<typeof compiledMessage>

/** A message as it is signed, in the legacy format or in version 0. */
export function compiledMessage(bytes: Uint8Array) {
  const message = getCompiledTransactionMessageDecoder().decode(bytes)
  if (message.version === 1) throw new RangeError('transactions of version 1 are not known here')
  return message
}

/** What is taken for a transaction, landed or failed: a fee for each signature, and the priority. */
export function feeLamports({ header, instructions, staticAccounts }: CompiledMessage): number {
  const budget = instructions
    .filter(({ programAddressIndex: at }) => staticAccounts[at] === COMPUTE_BUDGET_PROGRAM)
    .map(({ data }) => Buffer.from(data ?? []))
  const limit = budget.find(([kind]) => kind === SET_COMPUTE_UNIT_LIMIT)
  const price = budget.find(([kind]) => kind === SET_COMPUTE_UNIT_PRICE)
  const others = instructions.length - budget.length
  const units = limit?.readUInt32LE(1) ?? others * COMPUTE_UNITS_DEFAULT
  const priority = units * Number(price?.readBigUInt64LE(1) ?? 0n)
  const signatures = header.numSignerAccounts * LAMPORTS_PER_SIGNATURE
  return signatures + Math.ceil(priority / MICROLAMPORTS_PER_LAMPORT)
}
