import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pulse } from '../src/compute/analyses/pulse/pulse.ts'
import { encodedPayment, newBuyer, signedPayload } from '../src/payment/testing/buyer.ts'
import type { Rig } from './support/service.ts'
import { startRig, until, untilSold } from './support/service.ts'

const TRACE_OF_BUYER = '0af7651916cd43dd8448eb211c80319c'

type Attribute = { readonly key: string; readonly value: Readonly<Record<string, unknown>> }
type Span = {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly Attribute[]
}
type Export = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[]
  }[]
}

describe('traces of paid calls', () => {
  const exports: Export[] = []
  let collector: Server
  let rig: Rig

  beforeAll(async () => {
    collector = createServer(async (request, response) => {
      exports.push((await json(request)) as Export)
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
    const { port } = collector.address() as AddressInfo
    rig = await startRig({ flags: ['--otlp-endpoint', `http://127.0.0.1:${port}`] })
    await untilSold(rig.url, pulse.contract, 'BTC')
  })

  afterAll(async () => {
    await rig?.close()
    collector?.close()
  })

  test('arrive at the collector with every step, without payer, payload or the trace of the buyer', async () => {
    const wallet = newBuyer()
    await rig.chain.fundUsdc(wallet.address, 1_000_000n)
    const choices = {
      ...{ amount: pulse.contract.priceUsdcAtomic, nowMs: Date.now() },
      payTo: rig.chain.accounts.merchant.address,
    }
    const payment = encodedPayment(await signedPayload(wallet, choices))
    const traceparent = `00-${TRACE_OF_BUYER}-b7ad6b7169203331-01`
    // Ten calls of a second are traced, and a sale may be refused for longer than ten tries take.
    const second = () => Math.floor(Date.now() / 1_000)
    let askedIn = second()
    await until('the answer is sold', async () => {
      if (second() === askedIn) return false
      askedIn = second()
      const headers = { 'x-payment': payment, traceparent }
      return (await fetch(`${rig.url}/pulse/BTC`, { headers })).status === 200
    })
    const spans = () =>
      exports.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
      )
    const soldOf = () =>
      spans().find(
        ({ parentSpanId = '', attributes = [] }) =>
          parentSpanId === '' &&
          attributes.some(
            ({ key, value }) =>
              key === 'http.response.status_code' && Number(value['intValue']) === 200,
          ),
      )
    await until('the collector has the call', async () => soldOf() !== undefined)
    const root = soldOf()
    expect(root?.name).toBe('GET /pulse/:coin')
    const steps = spans()
      .filter(({ parentSpanId }) => parentSpanId === root?.spanId)
      .toSorted((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
    expect(steps.map(({ name }) => name)).toEqual([
      ...['checks', 'verify', 'answer', 'ledger begin', 'settle', 'ledger record'],
    ])
    for (const { startTimeUnixNano, endTimeUnixNano, traceId } of steps) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano))
      expect(traceId).toBe(root?.traceId)
    }
    const text = JSON.stringify(exports)
    expect(text).not.toContain(TRACE_OF_BUYER)
    expect(text.toLowerCase()).not.toContain(wallet.address.toLowerCase().slice(2))
    expect(text).not.toContain(payment.slice(0, 40))
    expect(text).not.toContain('BTC')
  })
})
