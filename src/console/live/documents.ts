import type { Signal } from '@preact/signals'
import { effect, signal } from '@preact/signals'
import type {
  ConsoleDocumentEvent,
  ConsoleRefusal,
  ConsoleServiceEvent,
} from '../../domain/console-protocol.ts'
import { needsSignIn } from '../shell/sign-in.tsx'
import { callOf } from '../wallet/call-path.ts'
import { openStream } from './event-stream.ts'
import { connection, facts, now, setServiceTime } from './service.ts'

/**
 * Where an answer comes from: `live` and `delayed` by the stream, `bought` by the wallet, `example` of a simulated market,
 * made when the service was built.
 */
export type Origin = 'live' | 'delayed' | 'bought' | 'example'

export type DocumentState<Answer = unknown> =
  | { readonly kind: 'waiting' }
  /** It was not bought in this page. */
  | { readonly kind: 'for-sale'; readonly analysis: string }
  | {
      readonly kind: 'answer'
      readonly answer: Answer
      readonly version: string
      readonly origin: Origin
      /** Instant of the ages in the answer, Unix milliseconds. */
      readonly atMs: number
      /** Why a call would get no answer now; the answer is the last one. */
      readonly refusal: ConsoleRefusal | null
    }
  | { readonly kind: 'refused'; readonly refusal: ConsoleRefusal }

export type AnswerState<Answer = unknown> = Extract<
  DocumentState<Answer>,
  { readonly kind: 'answer' }
>

const FREE_DOCUMENT = '/track-record'

type Followed = { readonly state: Signal<DocumentState>; readers: number }

const followed = new Map<string, Followed>()
/** Names that the stream carries. */
const wanted = signal<readonly string[]>([])

/** The state of a document, which stays up to date while it is followed. */
export function documentState(name: string): Signal<DocumentState> {
  return entryOf(name).state
}

/** @returns a function that ends it */
export function follow(name: string): () => void {
  const entry = entryOf(name)
  entry.readers += 1
  if (isStreamed(name)) updateWanted()
  else if (entry.state.peek().kind === 'waiting') void showUnbought(name, entry)
  return () => {
    entry.readers -= 1
    updateWanted()
  }
}

/** Shows an answer that was bought in this page. */
export function showBought(name: string, answer: unknown): void {
  const renderedAtMs = instantOf(answer)
  entryOf(name).state.value = {
    ...{ kind: 'answer', answer, version: `bought-${Date.now()}`, origin: 'bought' },
    // Not the time of its arrival: a payment that is sent again gets its stored answer.
    ...{ atMs: Number.isNaN(renderedAtMs) ? now.value : renderedAtMs, refusal: null },
  }
}

function entryOf(name: string): Followed {
  const known = followed.get(name)
  if (known !== undefined) return known
  const made: Followed = { state: signal<DocumentState>({ kind: 'waiting' }), readers: 0 }
  followed.set(name, made)
  return made
}

function updateWanted(): void {
  const names = [...followed].filter(([name, { readers }]) => readers > 0 && isStreamed(name))
  const next = names.map(([name]) => name).sort()
  if (next.join('\n') !== wanted.peek().join('\n')) wanted.value = next
}

/** The public stream has the documents of the sample coin, and what is free. */
function isStreamed(name: string): boolean {
  const { sample } = facts()
  return sample === null || name === FREE_DOCUMENT || callOf(name).coin === sample.coin
}

async function showUnbought(name: string, { state }: Followed): Promise<void> {
  const { analysis } = callOf(name)
  const offer = facts().offers.find(({ id }) => id === analysis)
  if (offer === undefined) {
    const detail = `This chart is not sold. It is free for ${facts().sample?.coin} only.`
    state.value = { kind: 'refused', refusal: { code: 'not_found', detail } }
  } else if (offer.scope === 'coin') state.value = { kind: 'for-sale', analysis }
  else {
    const response = await fetch(`/sample/${analysis}`).catch(() => null)
    const answer: unknown = response?.ok ? await response.json().catch(() => null) : null
    if (state.peek().kind === 'answer') return
    if (answer === null) {
      const detail = 'The example could not be loaded. Reload the page.'
      state.value = { kind: 'refused', refusal: { code: 'not_found', detail } }
      return
    }
    state.value = {
      ...{ kind: 'answer', answer, version: 'example', origin: 'example' },
      ...{ atMs: instantOf(answer), refusal: null },
    }
  }
}

function instantOf(answer: unknown): number {
  return Date.parse((answer as { timestamp_iso: string }).timestamp_iso)
}

/** Opens the one stream of the page, and opens it again when other documents are wanted. */
export function startStream(): void {
  effect(() => {
    const query = new URLSearchParams(wanted.value.map((name) => ['document', name]))
    return openStream(`/console/live?${query}`, {
      events: {
        service: (data) => showService(JSON.parse(data)),
        document: (data) => show(JSON.parse(data)),
      },
      onLost: () => {
        connection.value = 'lost'
      },
      onRefused: () => {
        if (facts().port === 'admin') void signInIfNeeded()
      },
    })
  })
}

/** A session ends with the process of the service. */
async function signInIfNeeded(): Promise<void> {
  if (await needsSignIn()) location.reload()
}

function showService({ engine, now: atMs }: ConsoleServiceEvent): void {
  setServiceTime(atMs)
  connection.value = engine
}

function show({ name, version, at, answer, refusal }: ConsoleDocumentEvent): void {
  const { state } = entryOf(name)
  const held = state.peek()
  if (refusal !== undefined) {
    state.value = held.kind === 'answer' ? { ...held, refusal } : { kind: 'refused', refusal }
    return
  }
  // What is shown for free is older than what was bought.
  if (held.kind === 'answer' && held.origin === 'bought' && at < held.atMs) return
  const origin = facts().sample === null || name === FREE_DOCUMENT ? 'live' : 'delayed'
  state.value = { kind: 'answer', answer, version, origin, atMs: at, refusal: null }
}
