import type { FailedTransactionMetadata } from 'litesvm'

/** As a node's JSON has it: a word, or an object of one member named so. */
export type TransactionError = string | { readonly [kind: string]: unknown }

/** LiteSVM gives numbers of enums; its text has their names, as the chain's own code prints them. */
export function transactionError(failed: FailedTransactionMetadata): TransactionError {
  const printed = /err: (.*?), meta:/s.exec(failed.toString())?.[1] ?? failed.toString()
  const instruction = /^InstructionError\((\d+), (\w+)(?:\((\d+)\))?/.exec(printed)
  if (instruction !== null) {
    const [, index, name = '', code] = instruction
    return {
      InstructionError: [Number(index), code === undefined ? name : { [name]: Number(code) }],
    }
  }
  const account = /^(\w+) \{ account_index: (\d+)/.exec(printed)
  if (account !== null) return { [account[1] ?? '']: { account_index: Number(account[2]) } }
  return /^\w+/.exec(printed)?.[0] ?? 'SanitizeFailure'
}
