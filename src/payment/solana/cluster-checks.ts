import type { Address } from '@solana/kit'
import { getAddressDecoder } from '@solana/kit'
import { OperatingError } from '../../domain/errors.ts'
import type { SolanaNetwork } from './networks.ts'
import { USDC_DECIMALS } from './networks.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'
import type { NodeAccount, SolanaNode } from './solana-node.ts'
import { SolanaNodeError } from './solana-node.ts'
import { associatedTokenAccount } from './token-account.ts'

export type ClusterFindings = {
  /** With these no payment can ever be taken. Each names its remedy. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

export type ClusterSettings = {
  readonly network: SolanaNetwork
  readonly payTo: Address
  /** Ours; null where somebody else pays the fees. */
  readonly feePayer: Address | null
}

const GENESIS_CHARS = 32
const MINT_BYTES = 82
const MINT_DECIMALS_AT = 44
const TOKEN_ACCOUNT_BYTES = 165
const OWNER_AT = 32
const STATE_AT = 108
const INITIALIZED = 1
/** Below it an account is not kept, so that no fee can be taken from it any more. */
const RENT_EXEMPT_LAMPORTS = 890_880
/** Two signatures, without priority. */
const SETTLEMENT_LAMPORTS = 10_000
const SETTLEMENTS_LOW = 500
const LAMPORTS_PER_SOL = 1e9

const keys = getAddressDecoder()

/**
 * Whether a node serves the cluster, the token and the accounts that settlements need.
 * @throws OperatingError when it does not answer, without its URL, which may hold a key
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

/** Whether a fee could be paid now, in one question. @returns why not; null where it could */
export function feePayerProbe(node: SolanaNode, feePayer: Address) {
  return async (): Promise<string | null> => {
    const lamports = (await node.account(feePayer))?.lamports ?? 0
    return lamports - RENT_EXEMPT_LAMPORTS < SETTLEMENT_LAMPORTS
      ? `the account ${feePayer} has ${lamports} lamports, too few for one fee`
      : null
  }
}

async function clusterFault(node: SolanaNode, network: SolanaNetwork): Promise<string | null> {
  const served = `solana:${(await node.genesisHash()).slice(0, GENESIS_CHARS)}`
  if (served === network.network) return null
  return `the node at --solana-rpc-url serves ${served}; --solana-network means ${network.network}`
}

async function mintFault(node: SolanaNode, { asset }: SolanaNetwork): Promise<string | null> {
  const mint = await node.account(asset)
  const isMint = mint?.owner === TOKEN_PROGRAM_ADDRESS && mint.data.length === MINT_BYTES
  const decimals = isMint ? mint.data.readUInt8(MINT_DECIMALS_AT) : null
  if (decimals === USDC_DECIMALS) return null
  const found = decimals === null ? 'is no mint' : `has ${decimals} decimals`
  return `USDC at ${asset} ${found} at --solana-rpc-url: check that the node is the cluster's own`
}

/** Clients do not create the account that they pay into, and nobody may at our expense. */
async function payeeFault(
  node: SolanaNode,
  { network, payTo }: ClusterSettings,
): Promise<string | null> {
  const named = await node.account(payTo)
  if (named?.owner === TOKEN_PROGRAM_ADDRESS || named?.owner === TOKEN_2022_PROGRAM)
    return `--solana-pay-to ${payTo} is ${tokenThing(named)}, no wallet: money that is paid to it is lost; give the wallet's own address`
  const account = await associatedTokenAccount(payTo, network.asset)
  if (holdsToken(await node.account(account), network.asset, payTo)) return null
  return `--solana-pay-to ${payTo} has no account for USDC that can be paid into (${account}): give the wallet's own address, and send it some USDC once, which creates the account`
}

function tokenThing({ data }: NodeAccount): string {
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
  const account = `the account ${feePayer} of --solana-facilitator-key has ${lamports / LAMPORTS_PER_SOL} SOL`
  return settlements < 1
    ? { faults: [`${account}, too little for one fee: send it some`], warnings: [] }
    : { faults: [], warnings: [`${account}, enough for ${settlements} settlements`] }
}
