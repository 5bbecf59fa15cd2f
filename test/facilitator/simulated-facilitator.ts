import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import type { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import type { Clock } from '../../src/domain/clock.ts'
import { freePort } from '../../src/roles/demo/free-port.ts'
import type { FacilitatorFault } from './facilitator-fault.ts'

const operations = ['verify', 'settle', 'supported'] as const
export type FacilitatorOperation = (typeof operations)[number]

export type FacilitatorRequest = {
  readonly operation: FacilitatorOperation
  /** Of `/verify` and `/settle`; null for what has no body. */
  readonly payload: PaymentPayload | null
}

export type SimulatedFacilitatorOptions = {
  /** Does the work: the SDK's facilitator with the schemes of its choice. */
  readonly mechanism: x402Facilitator
  readonly clock: Clock
  /** A request with another `Authorization` header is refused with 401. */
  readonly authorization?: string
  /** Asked for every request. null: nothing goes wrong. */
  readonly faultOf?: (request: FacilitatorRequest) => FacilitatorFault | null
}

/** A third-party facilitator with the HTTP interface of x402. */
export type SimulatedFacilitator = {
  readonly url: string
  /** Requests that arrived, by operation. */
  readonly calls: Readonly<Record<FacilitatorOperation, number>>
  /** Nothing listens there until `comeBack`. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
  close(): Promise<void>
}

type Asked = {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}
type Reply = { readonly status: number; readonly body: string }

/** How long after its answer it acts that acts afterwards. */
const AFTERWARDS_MS = 250

export async function startSimulatedFacilitator(
  options: SimulatedFacilitatorOptions,
): Promise<SimulatedFacilitator> {
  const calls = { verify: 0, settle: 0, supported: 0 }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const operation = operations.find((one) => request.url === `/${one}`)
    if (operation === undefined) return send(response, { status: 404, body: '{}' })
    calls[operation] += 1
    const body = await text(request)
    const { authorization } = options
    if (authorization !== undefined && request.headers.authorization !== authorization)
      return send(response, refusalOf(request.headers.authorization))
    const asked = operation === 'supported' ? null : (JSON.parse(body) as Asked)
    await faulty(operation, asked, response, options)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  // Nothing else takes it while this one is down.
  const port = await freePort()
  await listen(server, port)
  const goDown = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    goDown,
    comeBack: () => listen(server, port),
    close: async () => {
      if (server.listening) await goDown()
    },
  }
}

async function faulty(
  operation: FacilitatorOperation,
  asked: Asked | null,
  response: ServerResponse,
  { mechanism, clock, faultOf = () => null }: SimulatedFacilitatorOptions,
): Promise<void> {
  const fault = faultOf({ operation, payload: asked?.paymentPayload ?? null }) ?? {}
  const { delayMs = 0, acts = 'first', answer, headers } = fault
  if (delayMs > 0) await new Promise<void>((resolve) => clock.after(delayMs, resolve))
  const act = () => truth(operation, asked, mechanism)
  const done = acts === 'first' ? await act() : null
  // A second settlement of the same payment fails.
  if (acts === 'afterwards') clock.after(AFTERWARDS_MS, () => void act().catch(() => undefined))
  if (answer === 'nothing') return
  if (answer === 'cut') {
    response.destroy()
    return
  }
  const reply =
    answer === undefined ? (done ?? { status: 200, body: '{}' }) : lie(operation, answer, done)
  send(response, reply, headers)
}

/** What an honest facilitator says, after it has done it. */
async function truth(
  operation: FacilitatorOperation,
  asked: Asked | null,
  mechanism: x402Facilitator,
): Promise<Reply> {
  if (asked === null) return json(mechanism.getSupported())
  const { paymentPayload, paymentRequirements } = asked
  return json(
    operation === 'verify'
      ? await mechanism.verify(paymentPayload, paymentRequirements)
      : await mechanism.settle(paymentPayload, paymentRequirements),
  )
}

function lie(
  operation: FacilitatorOperation,
  answer: Exclude<NonNullable<FacilitatorFault['answer']>, 'nothing' | 'cut'>,
  done: Reply | null,
): Reply {
  if (answer === 'garbage') return { status: 200, body: '<html>upstream trouble</html>' }
  if (answer === 'nonsense') return json({ ok: true })
  if (answer === 'pending') return json(pending(done))
  if ('status' in answer) return { status: answer.status, body: 'upstream trouble' }
  if ('screens' in answer)
    return { status: 403, body: JSON.stringify({ errorType: answer.screens, errorMessage: 'no' }) }
  if ('supports' in answer)
    return json({ kinds: answer.supports.map((kind) => ({ x402Version: 2, ...kind })) })
  if ('says' in answer)
    return json({ ...(JSON.parse(done?.body ?? '{}') as object), ...answer.says })
  const network = 'eip155:8453'
  if ('success' in answer) return json({ success: true, transaction: answer.success, network })
  const { reason } = answer
  return json(
    operation === 'verify'
      ? { isValid: false, invalidReason: reason }
      : { success: false, errorReason: reason, transaction: '', network },
  )
}

/** With the transaction, where it has been sent. */
function pending(done: Reply | null) {
  const known = done === null ? {} : (JSON.parse(done.body) as { transaction?: string })
  return {
    success: false,
    errorReason: 'settlement_pending',
    transaction: known.transaction ?? '',
    network: 'eip155:8453',
  }
}

/** As careless as some are: it repeats the key that it refuses. */
function refusalOf(authorization: string | undefined): Reply {
  return { status: 401, body: JSON.stringify({ error: `unknown key: ${authorization ?? 'none'}` }) }
}

function json(value: unknown): Reply {
  return { status: 200, body: JSON.stringify(value) }
}

function send(response: ServerResponse, { status, body }: Reply, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}
