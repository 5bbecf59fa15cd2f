import type { EncodedAccount } from '@solana/kit'
import { getAddressDecoder, getBase58Decoder } from '@solana/kit'
import type { Landed } from './bank.ts'
import { accountsOf, messageOf } from './bank.ts'
import { TOKEN_ACCOUNT_BYTES, TOKEN_PROGRAM, tokenAmount } from './token-program.ts'

/** Every token here is a dollar. */
const DECIMALS = 6

/** A transaction of a block as `getTransaction` gives it. */
export function landedJson(landed: Landed, encoding: 'json' | 'base64') {
  const { bytes, transaction, slot, atMs, err, logs, unitsConsumed, before, after } = landed
  const { version } = messageOf(transaction)
  const [feeBefore, feeAfter] = [before[0]?.lamports ?? 0n, after[0]?.lamports ?? 0n]
  return {
    slot,
    blockTime: Math.floor(atMs / 1_000),
    version,
    meta: {
      err,
      status: err === null ? { Ok: null } : { Err: err },
      fee: Number(feeBefore - feeAfter),
      preBalances: before.map((account) => Number(account?.lamports ?? 0n)),
      postBalances: after.map((account) => Number(account?.lamports ?? 0n)),
      preTokenBalances: tokenBalances(before),
      postTokenBalances: tokenBalances(after),
      innerInstructions: [],
      logMessages: logs,
      loadedAddresses: { readonly: [], writable: [] },
      rewards: [],
      computeUnitsConsumed: unitsConsumed,
    },
    transaction:
      encoding === 'base64'
        ? [Buffer.from(bytes).toString('base64'), 'base64']
        : transactionJson(landed),
  }
}

/** Null for an account of anything else. */
export function tokenJson(account: EncodedAccount | null) {
  if (account?.programAddress !== TOKEN_PROGRAM || account.data.length !== TOKEN_ACCOUNT_BYTES)
    return null
  const amount = tokenAmount(account.data)
  const uiAmount = Number(amount) / 10 ** DECIMALS
  return {
    mint: getAddressDecoder().decode(account.data),
    owner: getAddressDecoder().decode(account.data, 32),
    programId: TOKEN_PROGRAM,
    uiTokenAmount: {
      amount: amount.toString(),
      decimals: DECIMALS,
      uiAmount,
      uiAmountString: String(uiAmount),
    },
  }
}

function tokenBalances(accounts: readonly (EncodedAccount | null)[]) {
  return accounts.flatMap((account, accountIndex) => {
    const token = tokenJson(account)
    return token === null ? [] : [{ accountIndex, ...token }]
  })
}

function transactionJson({ transaction }: Landed) {
  const { header, instructions, lifetimeToken, version } = messageOf(transaction)
  return {
    signatures: Object.values(transaction.signatures).map((signature) =>
      signature === null ? '' : getBase58Decoder().decode(signature),
    ),
    message: {
      header: {
        numRequiredSignatures: header.numSignerAccounts,
        numReadonlySignedAccounts: header.numReadonlySignerAccounts,
        numReadonlyUnsignedAccounts: header.numReadonlyNonSignerAccounts,
      },
      accountKeys: accountsOf(transaction),
      recentBlockhash: lifetimeToken,
      instructions: instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: getBase58Decoder().decode(data ?? new Uint8Array()),
        stackHeight: null,
      })),
      ...(version === 0 && { addressTableLookups: [] }),
    },
  }
}
