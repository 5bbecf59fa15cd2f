import { readFileSync } from 'node:fs'
import Table from 'cli-table3'
import type { VerifyOptions } from '../config/verify.ts'
import { OperatingError, reasonOf } from '../domain/errors.ts'
import type { AnswerFile } from '../proof/answer-file.ts'
import { AnswerFileError, readAnswerFile } from '../proof/answer-file.ts'
import type { CheckStep } from '../proof/check-answer.ts'
import { checkAnswer } from '../proof/check-answer.ts'
import { checkInclusion, proofPath } from '../proof/check-inclusion.ts'
import { checkTitles, verdictOf } from '../proof/check-verdict.ts'
import { recomputedStep } from './recomputed-answer.ts'

const STDIN = 0
const TEXT_COLUMNS = 90
const ANSWER_MS_MAX = 10_000

/**
 * `perpscope verify FILE`: checks a bought answer as far as the given sources permit.
 * @returns the exit code: 1 if something contradicts the answer
 * @throws OperatingError if the file contains no answer with its receipt, or a source cannot be read
 */
export async function verify(
  path: string,
  { receipt = '', url, signer, recording, json }: VerifyOptions,
  write: (text: string) => void,
): Promise<number> {
  const file = fileOf(path, receipt)
  const named = url === undefined ? undefined : await receiptSigner(url)
  const steps = [...(await checkAnswer(file, signer ?? named ?? null))]
  if (url !== undefined) {
    const { status, body } = await fetched(url + proofPath(file))
    steps.push(checkInclusion(file, status, body))
  }
  if (recording !== undefined) steps.push(recomputedStep(file, recording))
  const verdict = verdictOf(steps)
  write(json ? `${JSON.stringify({ verdict, steps })}\n` : rendered(verdict, steps))
  return verdict === 'contradicted' ? 1 : 0
}

function fileOf(path: string, receipt: string): AnswerFile {
  try {
    return readAnswerFile(readFileSync(path === '-' ? STDIN : path, 'utf8'), receipt)
  } catch (cause) {
    if (cause instanceof AnswerFileError) throw new OperatingError('unverifiable', cause.message)
    throw new OperatingError('unverifiable', `${path} cannot be read: ${reasonOf(cause)}`)
  }
}

async function receiptSigner(url: string): Promise<string | undefined> {
  const { body } = await fetched(`${url}/.well-known/x402`)
  const named = (body as { readonly receipt_signer?: unknown } | null)?.receipt_signer
  return typeof named === 'string' ? named : undefined
}

async function fetched(url: string): Promise<{ status: number; body: unknown }> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })
    const text = await response.text()
    return { status: response.status, body: parsed(text) }
  } catch (cause) {
    throw new OperatingError('unverifiable', `${url} does not answer: ${reasonOf(cause)}`)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
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
