import type { Address } from '@solana/addresses'
import { getAddressDecoder } from '@solana/addresses'
import { OperatingError } from '../../domain/errors.ts'
import type { SolanaNetwork } from './networks.ts'
import { USDC_DECIMALS } from './networks.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'
import type { NodeAccount, SolanaNode } from './solana-node.ts'
import { SolanaNodeError } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'

export type ClusterFindings = {
  /** Configuration errors that prevent every payment, each with its remedy. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

export type ClusterSettings = {
  readonly network: SolanaNetwork
  readonly payTo: Address
  /** Our fee payer; null if a facilitator pays the fees. */
  readonly feePayer: Address | null
}

const GENESIS_CHARS = 32
const MINT_BYTES = 82
const MINT_DECIMALS_AT = 44
const TOKEN_ACCOUNT_BYTES = 165
const OWNER_AT = 32
const STATE_AT = 108
const INITIALIZED = 1
/** Minimum balance of an account; fees cannot be taken from it. */
const RENT_EXEMPT_LAMPORTS = 890_880
/** Two signatures without a priority fee. */
const SETTLEMENT_LAMPORTS = 10_000
const SETTLEMENTS_LOW = 500
const LAMPORTS_PER_SOL = 1e9

const keys = getAddressDecoder()

/**
 * Checks that a node serves the cluster, the token and the accounts that settlements need.
 * @throws OperatingError when the node does not answer; the message omits its URL, which can contain a key
 */
export async function examineCluster(
  node: SolanaNode,
  settings: ClusterSettings,
): Promise<ClusterFindings> {
  try {
    const cluster = await clusterFault(node, settings.network)
    if (cluster !== null) return { faults: [cluster], warnings: [] }
    const [mint, payee, fees] = await Promise.all([
      mintFault(node, settings.network),
      payeeFault(node, settings),
      feesOf(node, settings.feePayer),
    ])
    return {
      faults: [mint, payee, ...fees.faults].filter((fault) => fault !== null),
      warnings: fees.warnings,
    }
  } catch (cause) {
    if (!(cause instanceof SolanaNodeError)) throw cause
    throw new OperatingError('node_unanswered', cause.message)
  }
}

/**
 * Tests with one request whether a fee can be paid now.
 * @returns why not, or null
 */
export function feePayerProbe(node: SolanaNode, feePayer: Address) {
  return async (): Promise<string | null> => {
    const lamports = (await node.account(feePayer))?.lamports ?? 0
    return lamports - RENT_EXEMPT_LAMPORTS < SETTLEMENT_LAMPORTS
      ? `account ${feePayer} has ${lamports} lamports, too few for its rent and one fee`
      : null
  }
}

async function clusterFault(node: SolanaNode, network: SolanaNetwork): Promise<string | null> {
  const served = `solana:${(await node.genesisHash()).slice(0, GENESIS_CHARS)}`
  if (served === network.network) return null
  return `The node at --solana-rpc-url serves ${served}; --solana-network is ${network.network}. Change one of them.`
}

async function mintFault(node: SolanaNode, { asset }: SolanaNetwork): Promise<string | null> {
  const mint = await node.account(asset)
  const isMint = mint?.owner === TOKEN_PROGRAM_ADDRESS && mint.data.length === MINT_BYTES
  const decimals = isMint ? mint.data.readUInt8(MINT_DECIMALS_AT) : null
  if (decimals === USDC_DECIMALS) return null
  const found = decimals === null ? 'is not a mint' : `has ${decimals} decimals`
  return `--solana-rpc-url: USDC (${asset}) ${found}. Check that the node serves this cluster.`
}

/** Clients do not create the payee's token account, and our fee payer must not pay for it. */
async function payeeFault(
  node: SolanaNode,
  { network, payTo }: ClusterSettings,
): Promise<string | null> {
  const named = await node.account(payTo)
  if (named?.owner === TOKEN_PROGRAM_ADDRESS || named?.owner === TOKEN_2022_PROGRAM)
    return `--solana-pay-to ${payTo} is ${tokenAccountKind(named)}, not a wallet; payments to it are lost. Use the address of the wallet.`
  const account = await associatedTokenAccount(payTo, network.asset)
  if (holdsToken(await node.account(account), network.asset, payTo)) return null
  return `--solana-pay-to ${payTo} has no USDC token account (${account}). Use the address of the wallet and send USDC to it once, which creates the account.`
}

function tokenAccountKind({ data }: NodeAccount): string {
  return data.length < TOKEN_ACCOUNT_BYTES
    ? 'a mint'
    : `a token account of ${keys.decode(data, OWNER_AT)}`
}

function holdsToken(account: NodeAccount | null, mint: Address, owner: Address): boolean {
  if (account?.owner !== TOKEN_PROGRAM_ADDRESS || account.data.length !== TOKEN_ACCOUNT_BYTES)
    return false
  const { data } = account
  return (
    keys.decode(data) === mint &&
    keys.decode(data, OWNER_AT) === owner &&
    data[STATE_AT] === INITIALIZED
  )
}

async function feesOf(node: SolanaNode, feePayer: Address | null): Promise<ClusterFindings> {
  if (feePayer === null) return { faults: [], warnings: [] }
  const lamports = (await node.account(feePayer))?.lamports ?? 0
  const settlements = Math.floor((lamports - RENT_EXEMPT_LAMPORTS) / SETTLEMENT_LAMPORTS)
  if (settlements >= SETTLEMENTS_LOW) return { faults: [], warnings: [] }
  const account = `Account ${feePayer} of --solana-facilitator-key has ${lamports / LAMPORTS_PER_SOL} SOL`
  return settlements < 1
    ? { faults: [`${account}, too little for its rent and one fee. Send SOL to it.`], warnings: [] }
    : {
        faults: [],
        warnings: [`${account}, enough for ${settlements} settlements. Send SOL to it.`],
      }
}
