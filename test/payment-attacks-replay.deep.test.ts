import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, fetch as fetchFrom } from 'undici'
import type { Hex } from 'viem'
import { toHex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { setSignEntropy } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { PaymentChoices } from '../src/payment/testing/buyer.ts'
import { encodedPayment, signedPayload } from '../src/payment/testing/buyer.ts'
import { DEARER_PRICE, PRICE } from '../src/payment/testing/paid-host.ts'
import { systemClock } from '../src/roles/system-clock.ts'
import type { Ground } from './support/attacked.ts'
import { rawExchange, requestOf, startGround, statusesIn } from './support/attacked.ts'
import { cancelAuthorization } from './support/cancelled-authorization.ts'
import { ManualClock } from './support/manual-clock.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const DAY_MS = 86_400_000

let ground: Ground

beforeAll(async () => {
  ground = await startGround()
})

afterAll(() => ground?.close())

function sign(buyer: PrivateKeyAccount, choices: Partial<PaymentChoices> = {}) {
  const payTo = ground.chain.accounts.merchant.address
  return signedPayload(buyer, { amount: PRICE, payTo, nowMs: systemClock.nowMs(), ...choices })
}

async function call(url: string, payment: string, header = 'x-payment') {
  const response = await fetch(url, { headers: { [header]: payment } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** A host whose handler waits until it is released. */
async function holdingHost() {
  const [atWork, finish] = [signal(), signal()]
  const host = await ground.host({
    atWork: () => {
      atWork.give()
      return finish.given
    },
  })
  return { host, atWork, finish }
}

/** A promise and its resolve function. */
function signal() {
  let give: () => void = () => undefined
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give }
}

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe('one payment', () => {
  test('sent 100 times at once, in both headers and over one socket, is one render and one transfer', async () => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const modern = encodedPayment(await sign(buyer))
    const pipelined = times(
      29,
      () => `GET /pulse/BTC HTTP/1.1\r\nHost: x\r\nX-PAYMENT: ${modern}\r\n\r\n`,
    )
    const last = requestOf('GET /pulse/BTC HTTP/1.1', `PAYMENT-SIGNATURE: ${modern}`)
    const [row, ...single] = await Promise.all([
      rawExchange(host.url, pipelined.join('') + last),
      ...times(35, () => call(`${host.url}/pulse/BTC`, modern, 'payment-signature')),
      ...times(35, () => call(`${host.url}/pulse/BTC`, modern)),
    ])
    expect(statusesIn(row)).toEqual(times(30, () => 200))
    expect(row.split('{"coin":{"coin":"BTC"},"run":1}')).toHaveLength(31)
    expect(single.map(({ status }) => status)).toEqual(times(70, () => 200))
    expect(new Set(single.map(({ text }) => text))).toEqual(
      new Set(['{"coin":{"coin":"BTC"},"run":1}']),
    )
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('of version 1 is one render and one transfer for copies from the same address, and no other', async () => {
    const { host, atWork, finish } = await holdingHost()
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer, { version: 1 }))
    const first = call(`${host.url}/slow/BTC`, payment)
    await atWork.given
    const copies = times(5, () => call(`${host.url}/slow/BTC`, payment))
    const stranger = new Agent({ localAddress: '127.0.0.2' })
    onTestFinished(() => stranger.close())
    const headers = { 'x-payment': payment }
    const elsewhere = await fetchFrom(`${host.url}/slow/BTC`, { headers, dispatcher: stranger })
    expect(elsewhere.status).toBe(409)
    // The copies have arrived when later requests are answered.
    for (const coin of ['ETH', 'SOL', 'DOGE']) await fetch(`${host.url}/pulse/${coin}`)
    finish.give()
    const answers = await Promise.all([first, ...copies])
    expect(answers.map(({ status }) => status)).toEqual(times(6, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('of version 1 is given again to its address for two minutes, until one copy was handed over', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const host = await ground.host({ clock })
    const newPayment = async () => {
      const choices = { version: 1, nowMs: clock.nowMs() } as const
      return encodedPayment(await sign(await ground.fundedBuyer(), choices))
    }
    const lost = await newPayment()
    const closing = (payment: string) =>
      rawExchange(host.url, requestOf('GET /pulse/BTC HTTP/1.1', `X-PAYMENT: ${payment}`))
    for (const afterMs of [0, 60_000, 59_000]) {
      clock.advance(afterMs)
      expect(statusesIn(await closing(lost)), 'a closed connection proves nothing').toEqual([200])
    }
    clock.advance(1_000)
    expect(statusesIn(await closing(lost))).toEqual([409])

    const read = await newPayment()
    expect((await call(`${host.url}/pulse/BTC`, read)).status).toBe(200)
    clock.advance(1_000)
    expect((await call(`${host.url}/pulse/BTC`, read)).status, 'its connection stood').toBe(409)
  })

  test('sent to 100 URLs at once buys one of them', async () => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    const answers = await Promise.all(
      times(100, (index) => call(`${host.url}/pulse/COIN${index}`, payment)),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...times(99, () => 409)])
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('that is at work is refused elsewhere at once, and waits for nobody there', async () => {
    const { host, atWork, finish } = await holdingHost()
    const payment = encodedPayment(await sign(await ground.fundedBuyer()))
    const first = call(`${host.url}/slow/BTC`, payment)
    await atWork.given
    const elsewhere = await call(`${host.url}/pulse/BTC`, payment)
    expect(elsewhere.status).toBe(409)
    expect(JSON.parse(elsewhere.text)).toMatchObject({ code: 'payment_replayed', charged: null })
    finish.give()
    expect((await first).status).toBe(200)
  })

  test('whose answer somebody has already is not thought to have failed by a copy that has none', async () => {
    const { host, atWork, finish } = await holdingHost()
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    const headers = { 'x-payment': payment, 'if-none-match': '*' }
    const holder = fetch(`${host.url}/slow/BTC`, { headers })
    await atWork.given
    const copy = call(`${host.url}/slow/BTC`, payment)
    // It has arrived when later requests are answered.
    for (const coin of ['ETH', 'SOL', 'DOGE']) await fetch(`${host.url}/pulse/${coin}`)
    finish.give()
    expect((await holder).status).toBe(304)
    const { status, text } = await copy
    expect(status).toBe(409)
    expect(JSON.parse(text)).toMatchObject({ code: 'payment_in_flight', payment_reusable: true })
    expect(await ground.spent(buyer)).toBe(0n)
  })

  test('in another spelling is still that payment', async () => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const payment = await sign(buyer)
    const { payload } = payment
    const { authorization, signature } = payload
    const shout = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
    const other = (changes: object) =>
      encodedPayment({ ...payment, payload: { ...payload, ...changes } })
    const bought = await call(`${host.url}/pulse/BTC`, encodedPayment(payment))
    expect(bought.status).toBe(200)
    const spellings = {
      'shouted hexadecimal': other({
        signature: shout(signature),
        authorization: { ...authorization, nonce: shout(authorization.nonce) },
      }),
      'a lower-case payer': other({
        authorization: { ...authorization, from: authorization.from.toLowerCase() },
      }),
      'leading zeros': other({ authorization: { ...authorization, value: '000020000' } }),
      'other members': other({ permit2: {}, nonce: 1, authorization: { ...authorization, v: 27 } }),
      'another resource': encodedPayment({
        ...payment,
        resource: { url: 'https://evil.example/' },
      }),
      'a prototype of its own': Buffer.from(
        JSON.stringify(payment).replace('{', '{"__proto__":{"x402Version":9},'),
      ).toString('base64'),
      'members told twice': Buffer.from(
        JSON.stringify(payment).replace('"payload":', '"payload":{},"payload":'),
      ).toString('base64'),
      'spaced JSON': Buffer.from(`\n${JSON.stringify(payment, null, 1)} `).toString('base64'),
      'no padding': encodedPayment(payment).replace(/=+$/, ''),
    }
    for (const [what, spelling] of Object.entries(spellings)) {
      const again = await call(`${host.url}/pulse/BTC`, spelling)
      expect([again.status, again.text], what).toEqual([200, bought.text])
      expect((await call(`${host.url}/pulse/ETH`, spelling)).status, what).toBe(409)
    }
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('that was refused for one URL buys another, and from then on only that', async () => {
    let down = true
    const host = await ground.host({
      facilitator: {
        ...ground.facilitator,
        settle: async (payment) =>
          down ? { kind: 'unreachable', reason: 'down' } : ground.facilitator.settle(payment),
      },
    })
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    expect((await call(`${host.url}/pulse/BTC`, payment)).status).toBe(503)
    down = false
    expect((await call(`${host.url}/pulse/ETH`, payment)).status).toBe(200)
    expect((await call(`${host.url}/pulse/BTC`, payment)).status).toBe(409)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('is worth nothing once its time and ten minutes are over', async () => {
    const clock = new ManualClock(systemClock.nowMs() - 3 * 3_600_000)
    const host = await ground.host({ clock })
    // Nothing is swept soon after a start.
    clock.advance(3 * 3_600_000)
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    expect((await call(`${host.url}/pulse/BTC`, payment)).status).toBe(200)
    clock.advance(13 * 60_000)
    // That sweep began before the answer expired. The next one is a minute after its end.
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(60_000)
    const late = await call(`${host.url}/pulse/BTC`, payment)
    expect(late.status, 'a 402 would say that it was not charged').toBe(409)
    expect(JSON.parse(late.text)).toMatchObject({ code: 'payment_replayed', charged: true })
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })
})

describe('one nonce', () => {
  test('signed ten times, each signature another and good, is one sale', async () => {
    // Randomised signatures, as from many hardware wallets.
    setSignEntropy(true)
    // It cannot be unset; constant entropy makes signatures in later files deterministic again.
    onTestFinished(() => setSignEntropy(`0x${'00'.repeat(32)}`))
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const choices = { nonce: `0x${'1c'.repeat(32)}` as const, nowMs: systemClock.nowMs() }
    const payments = await Promise.all(times(10, () => sign(buyer, choices)))
    expect(new Set(payments.map(({ payload }) => payload.signature)).size).toBe(10)
    const answers = await Promise.all(
      payments.map((payment) => call(`${host.url}/pulse/BTC`, encodedPayment(payment))),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...times(9, () => 409)])
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })

  test('of two payers is two payments', async () => {
    const host = await ground.host()
    const nonce = `0x${'2d'.repeat(32)}` as const
    for (const buyer of [await ground.fundedBuyer(), await ground.fundedBuyer()]) {
      const payment = encodedPayment(await sign(buyer, { nonce }))
      expect((await call(`${host.url}/pulse/BTC`, payment)).status).toBe(200)
      expect(await ground.spent(buyer)).toBe(PRICE)
    }
    expect(host.runs()).toBe(2)
  })

  test('that its owner cancels between verification and settlement buys nothing, twice', async () => {
    const buyer = await ground.fundedBuyer()
    const payment = await sign(buyer)
    const { nonce } = payment.payload.authorization
    const host = await ground.host({
      atWork: () => cancelAuthorization(ground.chain, buyer, nonce),
    })
    const { status, text } = await call(`${host.url}/slow/BTC`, encodedPayment(payment))
    expect(status).toBe(402)
    expect(text).not.toContain('"run"')
    expect((await call(`${host.url}/pulse/BTC`, encodedPayment(payment))).status).toBe(402)
    expect(await ground.spent(buyer)).toBe(0n)
  })
})

describe('who knows all of a payment but its signature', () => {
  test.each<[string, (signature: Hex) => string]>([
    ['zeros', () => `0x${'0'.repeat(130)}`],
    ['ones', () => `0x${'f'.repeat(130)}`],
    ['nothing', () => '0x'],
    ['its malleated twin', malleated],
    ['its first half', (signature) => signature.slice(0, 66)],
    ['its compact form', (signature) => signature.slice(0, 130)],
    ['another recovery', (signature) => `${signature.slice(0, -2)}1d`],
    ['more of it', (signature) => `${signature}00`],
    ['a signature of a wallet that is yet to be deployed', counterfactual],
  ])('and sends %s in its place does not get the answer that it bought', async (_what, forge) => {
    const host = await ground.host()
    const buyer = await ground.fundedBuyer()
    const payment = await sign(buyer)
    const bought = await call(`${host.url}/pulse/BTC`, encodedPayment(payment))
    expect(bought.status).toBe(200)
    const signature = forge(payment.payload.signature)
    const forged = encodedPayment({ ...payment, payload: { ...payment.payload, signature } })
    const answer = await call(`${host.url}/pulse/BTC`, forged)
    expect([400, 402]).toContain(answer.status)
    expect(answer.text).not.toContain('"run"')
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })
})

describe('a known payment identifier', () => {
  const identified = (payment: object, id: string) =>
    encodedPayment({
      ...payment,
      extensions: { 'payment-identifier': { info: { required: false, id } } },
    })

  test.each(['/pulse/BTC', '/pulse/ETH', '/bundle/BTC'])(
    'opens %s to nobody who does not pay',
    async (path) => {
      const host = await ground.host()
      const id = `pay_${'7'.repeat(28)}`
      const payment = await sign(await ground.fundedBuyer())
      expect((await call(`${host.url}/pulse/BTC`, identified(payment, id))).status).toBe(200)
      const runs = host.runs()
      const stranger = await ground.fundedBuyer()
      const amount = path.startsWith('/bundle') ? DEARER_PRICE : PRICE
      const forged = await sign(stranger, { amount })
      forged.payload.authorization.from = (await ground.fundedBuyer()).address
      const taken = await call(`${host.url}${path}`, identified(forged, id))
      expect([400, 402, 409]).toContain(taken.status)
      expect(taken.text).not.toContain('"run"')
      expect(host.runs()).toBe(runs)
    },
  )
})

describe('what is forgotten', () => {
  test('with the ledger charges nobody twice', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perpscope-lost-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const ledgerPath = join(folder, 'ledger.db')
    const before = await ground.host({ ledgerPath })
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    expect((await call(`${before.url}/pulse/BTC`, payment)).status).toBe(200)
    await before.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(ledgerPath + suffix, { force: true })
    const after = await ground.host({ ledgerPath })
    const again = await call(`${after.url}/pulse/BTC`, payment)
    expect(again.status, 'nor gives an answer to whoever has read the chain').toBe(409)
    expect(JSON.parse(again.text)).toMatchObject({ code: 'payment_replayed', charged: null })
    expect(await ground.spent(buyer), 'the chain remembers').toBe(PRICE)
  })

  test('while the clock was a day ahead for a moment is not sold once more', async () => {
    const clock = new ManualClock(systemClock.nowMs())
    const host = await ground.host({ clock })
    const buyer = await ground.fundedBuyer()
    const payment = encodedPayment(await sign(buyer))
    expect((await call(`${host.url}/pulse/BTC`, payment)).status).toBe(200)
    clock.putBack(-DAY_MS)
    // Long enough for the sweep of expired entries.
    clock.advance(60_000)
    clock.putBack(DAY_MS)
    const elsewhere = await call(`${host.url}/pulse/ETH`, payment)
    expect(elsewhere.text).not.toContain('"run"')
    expect(host.runs()).toBe(1)
    expect(await ground.spent(buyer)).toBe(PRICE)
  })
})

/** `s` replaced by its negative, which recovers to the same key. */
function malleated(signature: Hex): Hex {
  const s = toHex(ORDER - BigInt(`0x${signature.slice(66, 130)}`), { size: 32 }).slice(2)
  return `0x${signature.slice(2, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
}

/** ERC-6492: calls a factory of the sender's choice before it asks the wallet. */
function counterfactual(signature: Hex): string {
  return `0x${'00'.repeat(96)}${signature.slice(2)}${'6492'.repeat(16)}`
}
