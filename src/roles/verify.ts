import { readFileSync } from 'node:fs'
import Table from 'cli-table3'
import type { Hex } from 'viem'
import { createPublicClient, http, isAddress, TransactionNotFoundError } from 'viem'
import { UsageError } from '../config/usage.ts'
import type { VerifyOptions } from '../config/verify.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import { hostOf } from '../domain/host-of.ts'
import { isRecord, parsedJson } from '../domain/json.ts'
import { nodeReason } from '../payment/node-error.ts'
import type { AnswerFile } from '../proof/answer-file.ts'
import { AnswerFileError, answerText, readAnswerFile } from '../proof/answer-file.ts'
import type { CheckStep } from '../proof/check-answer.ts'
import { checkAnswer } from '../proof/check-answer.ts'
import type { AnchorTransaction } from '../proof/check-inclusion.ts'
import {
  anchorIn,
  checkAnchor,
  checkClaim,
  checkInclusion,
  proofPath,
} from '../proof/check-inclusion.ts'
import { checkTitles, verdictOf } from '../proof/check-verdict.ts'
import type { ClaimFile } from '../proof/claim-file.ts'
import { readClaimFile } from '../proof/claim-file.ts'
import { recomputedStep } from './recomputed-answer.ts'

const STDIN = 0
const TEXT_COLUMNS = 90
const ANSWER_MS_MAX = 10_000
/** A proof with a month of hours to its anchor has 90 kB. */
const ANSWER_BYTES_MAX = 1_000_000

/**
 * `perpscope verify FILE`: checks a bought answer, or a claim of the track record, as far as the given sources permit.
 * @returns the exit code: 1 if something contradicts it
 * @throws OperatingError if the file contains neither, or a source cannot be read
 */
export async function verify(
  path: string,
  options: VerifyOptions,
  write: (text: string) => void,
): Promise<number> {
  const text = textOf(path)
  const claim = readClaimFile(text)
  const steps = claim === null ? await answerSteps(text, options) : await claimSteps(claim, options)
  const verdict = verdictOf(steps)
  write(options.json ? `${JSON.stringify({ verdict, steps })}\n` : rendered(verdict, steps))
  return verdict === 'contradicted' ? 1 : 0
}

async function answerSteps(
  text: string,
  { receipt = '', url, signer, recording, rpcUrl }: VerifyOptions,
): Promise<readonly CheckStep[]> {
  if (rpcUrl !== undefined && url === undefined)
    throw new UsageError('--rpc-url needs --url: the service names the anchor')
  const file = fileOf(text, receipt)
  const named = signer ?? (url === undefined ? null : await receiptSigner(url))
  const steps = [...(await checkAnswer(file, named))]
  if (url !== undefined) {
    const { status, body } = await fetched(url + proofPath(answerText(file)))
    const included = checkInclusion(answerText(file), status, body)
    steps.push(included, ...(await anchorSteps(included, body, rpcUrl, null)))
  }
  if (recording !== undefined) steps.push(recomputedStep(file, recording))
  return steps
}

async function claimSteps(
  file: ClaimFile,
  { url, rpcUrl, receipt, signer, recording }: VerifyOptions,
): Promise<readonly CheckStep[]> {
  for (const [option, value] of Object.entries({ receipt, signer, recording }))
    if (value !== undefined)
      throw new UsageError(`--${option} is for an answer, and the file contains a claim`)
  if (url === undefined)
    throw new OperatingError('unverifiable', 'a claim is proven by its service: name it with --url')
  const { status, body } = await fetched(url + proofPath(file.text))
  const included = checkClaim(file, status, body)
  return [included, ...(await anchorSteps(included, body, rpcUrl, file.claim))]
}

/** None without a node; the proof is anchored only if it holds. */
async function anchorSteps(
  included: CheckStep,
  body: unknown,
  rpcUrl: string | undefined,
  claim: ClaimFile['claim'] | null,
): Promise<readonly CheckStep[]> {
  if (rpcUrl === undefined || included.verdict !== 'holds') return []
  const anchor = anchorIn(body)
  return [checkAnchor(body, anchor && (await transactionOf(anchor.transaction, rpcUrl)), claim)]
}

async function transactionOf(hash: string, url: string): Promise<AnchorTransaction> {
  const node = createPublicClient({ transport: http(url, { retryCount: 0 }) })
  try {
    const network = `eip155:${await node.getChainId()}`
    const found = await node.getTransaction({ hash: hash as Hex }).catch(nullIfUnknown)
    const { input: data = null, blockNumber = null } = found ?? {}
    const block = blockNumber === null ? null : await node.getBlock({ blockNumber })
    return { network, data, minedAtMs: block && Number(block.timestamp) * 1_000 }
  } catch (cause) {
    throw new OperatingError(
      'unverifiable',
      `the node at --rpc-url (${hostOf(url)}) does not answer: ${nodeReason(cause)}`,
    )
  }
}

function nullIfUnknown(cause: unknown): null {
  if (cause instanceof TransactionNotFoundError) return null
  throw cause
}

function textOf(path: string): string {
  try {
    // Editors and shells of Windows write a byte order mark, which JSON does not allow.
    return readFileSync(path === '-' ? STDIN : path, 'utf8').replace(/^\ufeff/, '')
  } catch (cause) {
    throw new OperatingError('unverifiable', `${path} cannot be read: ${reasonOf(cause)}`)
  }
}

function fileOf(text: string, receipt: string): AnswerFile {
  try {
    return readAnswerFile(text, receipt)
  } catch (cause) {
    if (cause instanceof AnswerFileError) throw new OperatingError('unverifiable', cause.message)
    throw cause
  }
}

/** null for a service that signs no receipts. */
async function receiptSigner(service: string): Promise<string | null> {
  const url = `${service}/.well-known/x402`
  const { status, body } = await fetched(url)
  if (status !== 200 || !isRecord(body)) {
    const how = status === 200 ? 'without JSON' : status
    throw new OperatingError(
      'unverifiable',
      `${url} answered ${how}: is --url the address of the service?`,
    )
  }
  const { receipt_signer: named = null } = body
  if (named === null || isAddressText(named)) return named
  throw new OperatingError('unverifiable', `the receipt_signer in ${url} is not a 0x address`)
}

function isAddressText(value: unknown): value is string {
  return typeof value === 'string' && isAddress(value, { strict: false })
}

async function fetched(url: string): Promise<{ status: number; body: unknown }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    return { status: response.status, body: parsedJson(await boundedText(response)) }
  } catch (cause) {
    throw new OperatingError('unverifiable', `${url} does not answer: ${reasonOf(cause)}`)
  }
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its reply exceeds ${ANSWER_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function rendered(verdict: string, steps: readonly CheckStep[]): string {
  const table = new Table({
    head: ['check', 'verdict', ''],
    style: { head: [], border: [] },
    colWidths: [null, null, TEXT_COLUMNS],
    wordWrap: true,
  })
  for (const { id, verdict: found, text } of steps) table.push([checkTitles[id], found, text])
  return `${table.toString()}\n${verdict}\n`
}
