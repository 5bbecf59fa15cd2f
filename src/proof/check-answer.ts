import { recoverTypedDataAddress, sha256, stringToBytes } from 'viem'
import { isRecord } from '../domain/json.ts'
import { TickerIndex, unscaledToken } from '../domain/listing.ts'
import { percentDecoded } from '../domain/percent-decoded.ts'
import { printable } from '../domain/printable.ts'
import { contentReceiptTypes, receiptDomain, receiptTypes } from '../domain/receipt-types.ts'
import type { AnswerFile } from './answer-file.ts'
import { answerText } from './answer-file.ts'

/** One thing that is checked. `open` cannot be decided with what is given. */
export type CheckStep = {
  readonly id:
    | 'signature'
    | 'payment'
    | 'call'
    | 'content'
    | 'inclusion'
    | 'anchored'
    | 'recomputed'
  readonly verdict: 'holds' | 'fails' | 'open'
  readonly text: string
}

/** What a receipt signs. */
type SignedFacts = {
  readonly version: number
  readonly network: string
  readonly resourceUrl: string
  readonly payer: string
  readonly issuedAt: number
  readonly transaction: string
  /** SHA-256 of the answer; missing in version 1. */
  readonly contentHash?: `0x${string}`
}

/** Last second of a `Date` (ECMA-262). */
const SECONDS_MAX = 8_640_000_000_000
/** The service signs no more of a URL; `fields` may be longer. */
const SIGNED_URL_CHARS_MAX = 700

type Signed = { readonly payload: SignedFacts; readonly signature: `0x${string}` }

/**
 * Checks an answer with its receipt: who signed, for which payment, for which call, and that the answer is unchanged.
 * @param signer address that the service names for its receipts; null if it names none
 */
export async function checkAnswer(
  file: AnswerFile,
  signer: string | null,
): Promise<readonly CheckStep[]> {
  const signed = signedIn(file)
  if (signed === null)
    return [step('signature', 'fails', 'The receipt has no signature, so it proves nothing.')]
  const { payload } = signed
  return [
    await signatureStep(file, signed, signer),
    paymentStep(file, payload),
    callStep(file, payload),
    contentStep(file, payload),
  ]
}

async function signatureStep(file: AnswerFile, signed: Signed, signer: string | null) {
  const recovered = await signerOf(signed).catch(() => null)
  if (recovered === null) return step('signature', 'fails', 'The signature is malformed.')
  const older = receiptsIn(file)?.receipt ?? signed
  if (!(await isSameSale(older, signed, recovered)))
    return step(
      'signature',
      'fails',
      'info.receipt was changed, or is of another sale than info.contentReceipt.',
    )
  if (signer === null)
    return step(
      'signature',
      'open',
      `The receipt is signed by ${recovered}, or it was changed. This service names no key of its own to compare.`,
    )
  if (recovered.toLowerCase() === signer.toLowerCase())
    return step('signature', 'holds', `This service signed the receipt with its key ${signer}.`)
  return step(
    'signature',
    'fails',
    `The signature is not by the key of this service, ${signer}, but by ${recovered}. Another service signed the ` +
      'receipt, or the receipt was changed.',
  )
}

/** The receipt of version 1 is the one that other readers of x402 take. */
async function isSameSale(older: unknown, signed: Signed, signer: string): Promise<boolean> {
  if (!isSigned(older) || (await signerOf(older).catch(() => null)) !== signer) return false
  const facts = ['network', 'resourceUrl', 'payer', 'transaction', 'issuedAt'] as const
  return facts.every((fact) => older.payload[fact] === signed.payload[fact])
}

function paymentStep({ receipt }: AnswerFile, payload: SignedFacts): CheckStep {
  const differing = [
    ['transaction', receipt.transaction, payload.transaction],
    ['payer', receipt.payer, payload.payer],
    ['network', receipt.network, payload.network],
  ].filter(([, shown, proven]) => String(shown).toLowerCase() !== String(proven).toLowerCase())
  const [first] = differing
  if (first !== undefined)
    return step(
      'payment',
      'fails',
      `The ${first[0]} ${first[1]} is not the signed one, ${first[2]}.`,
    )
  const when = new Date(payload.issuedAt * 1_000).toISOString()
  return step(
    'payment',
    'holds',
    `${payload.payer} paid with ${payload.transaction} before ${when}. The receipt signs payer, transaction, network ` +
      'and time, but not success, charged, price_usdc or payee.',
  )
}

function callStep({ path, answer }: AnswerFile, { resourceUrl }: SignedFacts): CheckStep {
  const url = URL.parse(resourceUrl)
  if (url === null) return step('call', 'fails', `The receipt names no URL: ${resourceUrl}.`)
  const bought = url.pathname + url.search
  const isCut = resourceUrl.length >= SIGNED_URL_CHARS_MAX
  if (path !== null && !isOf(path, url, isCut))
    return step('call', 'fails', `The receipt is of another call: ${bought}, not ${path}.`)
  const about = answer['coin'] ?? answer['token']
  if (typeof about === 'string' && !isAbout(answer, about, coinOf(url.pathname)))
    return step('call', 'fails', `The receipt is of ${bought}, but the answer is about ${about}.`)
  if (isCut)
    return step(
      'call',
      'open',
      `The receipt signs only the first ${SIGNED_URL_CHARS_MAX} characters of the URL: ${resourceUrl}.`,
    )
  return step('call', 'holds', `The receipt is of ${resourceUrl}.`)
}

/** Compares the path as sent, so URL-encoded: a report may show a raw space. */
function isOf(path: string, signed: URL, isCut: boolean): boolean {
  const { pathname, search } = new URL(`http://service/${path.replace(/^\//, '')}`)
  // The public URL may have a path of its own before it.
  if (!isCut) return (signed.pathname + signed.search).endsWith(pathname + search)
  return signed.pathname.endsWith(pathname) && search.startsWith(signed.search)
}

/**
 * Whether a call of `coin`, in any spelling that the service takes, is answered about `about`. A coin that is quoted in
 * thousands, such as kPEPE, can be called by its token; the answer then names that, too.
 */
function isAbout(answer: AnswerFile['answer'], about: string, coin: string): boolean {
  const named = new TickerIndex([about]).resolve(coin)
  if (named === undefined) return false
  const requested = answer['requested_coin'] ?? answer['requested_token']
  return named.unitMultiplier === undefined
    ? requested === undefined
    : requested === unscaledToken(about)
}

function contentStep(file: AnswerFile, { contentHash }: SignedFacts): CheckStep {
  if (!isShownToModel(file))
    return step(
      'content',
      'fails',
      'The text in content, which a model reads, differs from structuredContent.',
    )
  const hash = sha256(stringToBytes(answerText(file)))
  if (contentHash === undefined)
    return step(
      'content',
      'open',
      'The receipt signs the payment but not the content, so a changed answer cannot be recognised.',
    )
  if (hash === contentHash.toLowerCase())
    return step('content', 'holds', `The answer is unchanged: its SHA-256 is ${hash}.`)
  return step(
    'content',
    'fails',
    `The answer was changed, or the receipt belongs to another answer: its SHA-256 is ${hash}, and ${contentHash} is signed.`,
  )
}

/** The service sends the text of the answer in one block, and any other block is not by it. */
function isShownToModel({ content = [], ...file }: AnswerFile): boolean {
  const text = answerText(file)
  const isText = (block: unknown) => isRecord(block) && block['text'] === text
  return Array.isArray(content) && content.every(isText)
}

/** The last part of a path: the coin of a per-coin call. The service ignores a slash at the end. */
export function coinOf(pathname: string): string {
  return percentDecoded(pathname.replace(/\/$/, '').split('/').at(-1) ?? '')
}

/** The whole URL that the receipt of an answer is about; null without a signed receipt, or if the URL is cut. */
export function signedUrl(file: AnswerFile): string | null {
  const url = signedIn(file)?.payload.resourceUrl
  return url === undefined || url.length >= SIGNED_URL_CHARS_MAX ? null : url
}

/** The receipt with the content, else that of version 1. */
function signedIn(file: AnswerFile): Signed | null {
  const receipts = receiptsIn(file)
  const signed = receipts?.contentReceipt ?? receipts?.receipt
  return isSigned(signed) ? signed : null
}

function receiptsIn({ receipt }: AnswerFile) {
  const extension = receipt.extensions?.['offer-receipt'] as
    | { readonly info?: { readonly contentReceipt?: unknown; readonly receipt?: unknown } }
    | undefined
  return extension?.info
}

/** Whether the members have the types that the receipt signs: a file can hold anything. */
function isSigned(signed: unknown): signed is Signed {
  const { payload, signature } = (signed ?? {}) as { payload?: unknown; signature?: unknown }
  if (typeof payload !== 'object' || payload === null || typeof signature !== 'string') return false
  const { version, issuedAt, network, resourceUrl, payer, transaction, contentHash } =
    payload as Readonly<Record<string, unknown>>
  const hash = contentHash === undefined ? '' : contentHash
  const texts = [network, resourceUrl, payer, transaction, hash]
  return (
    texts.every((text) => typeof text === 'string') &&
    Number.isSafeInteger(version) &&
    Number.isSafeInteger(issuedAt) &&
    Math.abs(issuedAt as number) <= SECONDS_MAX
  )
}

async function signerOf({ payload, signature }: Signed): Promise<string> {
  const { version, issuedAt, network, resourceUrl, payer, transaction, contentHash } = payload
  const message = {
    ...{ network, resourceUrl, payer, transaction },
    version: BigInt(version),
    issuedAt: BigInt(issuedAt),
  }
  const of = { domain: receiptDomain, primaryType: 'Receipt', signature } as const
  return contentHash === undefined
    ? recoverTypedDataAddress({ ...of, types: receiptTypes, message })
    : recoverTypedDataAddress({
        ...of,
        types: contentReceiptTypes,
        message: { ...message, contentHash },
      })
}

/** @param text may contain text of the file or of the service */
export function step(id: CheckStep['id'], verdict: CheckStep['verdict'], text: string): CheckStep {
  return { id, verdict, text: printable(text) }
}
