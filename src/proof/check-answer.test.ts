import { fc, test as property } from '@fast-check/vitest'
import { generatePrivateKey } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../test/support/manual-clock.ts'
import type { SettleResponse } from '../client/client.ts'
import { exactEvm } from '../payment/evm/exact-evm.ts'
import { base } from '../payment/evm/networks.ts'
import { OfferReceipts } from '../payment/extensions/offer-receipt.ts'
import { RESOURCE_URL_CHARS_MAX, termsOf } from '../payment/terms.ts'
import type { AnswerFile } from './answer-file.ts'
import { answerFileText, readAnswerFile } from './answer-file.ts'
import type { CheckStep } from './check-answer.ts'
import { checkAnswer } from './check-answer.ts'

const payer = '0x00000000000000000000000000000000000000B2'
const transaction = `0x${'12'.repeat(32)}`
const answer = {
  coin: 'ETH',
  price: { current: 2_500.5 },
  signals: ['rsi', null],
  meta: { age: 1 },
}
const receipts = new OfferReceipts({ key: generatePrivateKey(), clock: new ManualClock() })
const { signer } = receipts

async function boughtFile(
  content: Readonly<Record<string, unknown>> = answer,
  path = '/pulse/ETH',
  by = receipts,
): Promise<AnswerFile> {
  const unasked = () => Promise.reject(new Error('a signature asks nobody'))
  const facilitator = { verify: unasked, settle: unasked, outcome: unasked }
  const { requirements } = termsOf({ priceUsdcAtomic: 25_000n, description: 'pulse' }, [
    exactEvm({ network: base, payTo: '0x00000000000000000000000000000000000000A1', facilitator }),
  ])
  const [requirement] = requirements
  if (requirement === undefined) throw new Error('one was made')
  const info = await by.receipt(
    {
      ...{ hash: JSON.stringify([content, path]), payer, nonce: '0x1', validBeforeSeconds: 0 },
      requirement,
      resourceUrl: `https://api.example.com${path}`.slice(0, RESOURCE_URL_CHARS_MAX),
      wire: { x402Version: 2, accepted: requirement.wire, payload: {} },
    },
    transaction,
    Buffer.from(JSON.stringify(content)),
  )
  const receipt: SettleResponse = {
    ...{ success: true, transaction, network: 'eip155:8453', payer },
    extensions: { 'offer-receipt': { info } },
  }
  return { path, answer: content, receipt }
}

const failing = (steps: readonly CheckStep[]) =>
  steps.filter(({ verdict }) => verdict === 'fails').map(({ id }) => id)

describe('the check of an answer', () => {
  test('holds for what was bought', async () => {
    const steps = await checkAnswer(await boughtFile(), signer)
    expect(steps.map(({ id, verdict }) => [id, verdict])).toEqual([
      ['signature', 'holds'],
      ['payment', 'holds'],
      ['call', 'holds'],
      ['content', 'holds'],
    ])
  })

  test.each([
    ['the token of a coin that is quoted in thousands', 'kPEPE', 'PEPE', []],
    ['another token', 'kPEPE', 'BONK', ['call']],
    ['a token that the answer does not name', 'kPEPE', undefined, ['call']],
    ['a token of another coin', 'BTC', 'PEPE', ['call']],
  ] as const)('knows the call by %s', async (_what, coin, requested_coin, fails) => {
    const content = { coin, ...(requested_coin && { requested_coin, unit_multiplier: 1_000 }) }
    expect(failing(await checkAnswer(await boughtFile(content, '/spread/PEPE'), signer))).toEqual(
      fails,
    )
  })

  test.each([
    ['BTC', undefined, '/pulse/BTC-PERP'],
    ['BTC', undefined, '/pulse/btcusdt'],
    ['kPEPE', 'PEPE', '/spread/PEPE-USD'],
  ])('knows %s by another spelling of the call', async (coin, requested_coin, path) => {
    const content = { coin, ...(requested_coin && { requested_coin, unit_multiplier: 1_000 }) }
    expect(failing(await checkAnswer(await boughtFile(content, path), signer))).toEqual([])
  })

  test('a public URL may have a path of its own', async () => {
    const file = await boughtFile(answer, '/perpscope/pulse/ETH')
    expect(failing(await checkAnswer({ ...file, path: '/pulse/ETH' }, signer))).toEqual([])
    expect(failing(await checkAnswer({ ...file, path: '/pulse/BTC' }, signer))).toEqual(['call'])
  })

  const long = `/pulse/ETH?fields=${'price,'.repeat(150)}price`

  test.each([
    ['a slash at its end', '/pulse/ETH/', '/pulse/ETH/', 'holds'],
    [
      'a space in its query',
      '/pulse/ETH?fields=coin,%20meta',
      '/pulse/ETH?fields=coin, meta',
      'holds',
    ],
    ['more characters than are signed', long, long, 'open'],
    ['other characters than are signed', long, long.replace('price', 'coin'), 'fails'],
    ['more characters than are signed, of another coin', long, '/pulse/BTC', 'fails'],
  ])('of a call with %s', async (_what, sent, shown, verdict) => {
    const file = { ...(await boughtFile(answer, sent)), path: shown }
    expect(await checkAnswer(file, signer)).toContainEqual(
      expect.objectContaining({ id: 'call', verdict }),
    )
  })

  test('fails for a changed answer', async () => {
    const file = await boughtFile()
    const changed = { ...file, answer: { ...answer, price: { current: 2_500.6 } } }
    expect(failing(await checkAnswer(changed, signer))).toEqual(['content'])
  })

  test('fails for the receipt of another answer', async () => {
    const { receipt } = await boughtFile({ ...answer, coin: 'BTC' }, '/pulse/BTC')
    expect(failing(await checkAnswer({ path: '/pulse/ETH', answer, receipt }, signer))).toEqual([
      'call',
      'content',
    ])
    expect(failing(await checkAnswer({ path: null, answer, receipt }, signer))).toEqual([
      'call',
      'content',
    ])
  })

  test('fails for the result of an MCP tool whose text, which a model reads, is another', async () => {
    const { receipt } = await boughtFile()
    const sent = JSON.stringify(answer)
    const read = (...texts: readonly string[]) =>
      readAnswerFile(
        JSON.stringify({
          content: texts.map((text) => ({ type: 'text', text })),
          structuredContent: answer,
          _meta: { 'x402/payment-response': receipt },
        }),
      )
    expect(failing(await checkAnswer(read(sent), signer))).toEqual([])
    expect(failing(await checkAnswer(read(), signer))).toEqual([])
    for (const texts of [[sent.replace('2500.5', '2500.6')], ['hello'], [sent, 'hello']])
      expect(failing(await checkAnswer(read(...texts), signer))).toEqual(['content'])
  })

  test('fails for another signer', async () => {
    const other = new OfferReceipts({ key: generatePrivateKey(), clock: new ManualClock() })
    const steps = await checkAnswer(await boughtFile(answer, '/pulse/ETH', other), signer)
    expect(failing(steps)).toEqual(['signature'])
    expect(steps[0]?.text).toContain(other.signer)
  })

  test('fails for a receipt that names another hash, transaction or payer', async () => {
    const file = await boughtFile()
    const edited = (from: string, to: string): AnswerFile => ({
      ...file,
      receipt: JSON.parse(JSON.stringify(file.receipt).replaceAll(from, to)),
    })
    expect(failing(await checkAnswer(edited(transaction, `0x${'34'.repeat(32)}`), signer))).toEqual(
      ['signature'],
    )
    const shown = { ...file, receipt: { ...file.receipt, transaction: '0x00' } }
    expect(failing(await checkAnswer(shown, signer))).toEqual(['payment'])
  })

  test('fails if the receipt of version 1 is of another sale, or not signed by the same key', async () => {
    const file = await boughtFile()
    const other = await boughtFile(
      answer,
      '/pulse/ETH',
      new OfferReceipts({ key: generatePrivateKey(), clock: new ManualClock() }),
    )
    const older = async (change: (receipt: Record<string, unknown>) => unknown) => {
      const receipt = structuredClone(file.receipt)
      const { info } = Object(receipt.extensions)['offer-receipt']
      info.receipt = change(info.receipt)
      return failing(await checkAnswer({ ...file, receipt }, signer))
    }
    const payload = (members: Record<string, unknown>) => (signed: Record<string, unknown>) => ({
      ...signed,
      payload: { ...Object(signed['payload']), ...members },
    })
    expect(await older((same) => same)).toEqual([])
    expect(await older(() => undefined)).toEqual([])
    for (const members of [
      { payer: '0x00' },
      { transaction: '0x00' },
      { issuedAt: 1 },
      { version: 7 },
    ])
      expect(await older(payload(members)), JSON.stringify(members)).toEqual(['signature'])
    expect(await older(payload({ resourceUrl: 'https://api.example.com/pulse/BTC' }))).toEqual([
      'signature',
    ])
    expect(await older((signed) => ({ ...signed, signature: '0x12' }))).toEqual(['signature'])
    expect(await older(() => ({}))).toEqual(['signature'])
    const byOther = Object(other.receipt.extensions)['offer-receipt'].info.receipt
    expect(await older(() => byOther)).toEqual(['signature'])
    const { receipt: ofOther } = await boughtFile({ ...answer, coin: 'BTC' }, '/pulse/BTC')
    const anotherSale = Object(ofOther.extensions)['offer-receipt'].info.receipt
    expect(await older(() => anotherSale)).toEqual(['signature'])
  })

  test('names the members that are not signed', async () => {
    const [, payment] = await checkAnswer(await boughtFile(), signer)
    expect(payment?.text).toContain('not success, charged, price_usdc or payee')
  })

  test('leaves the content open for a receipt of version 1', async () => {
    const file = await boughtFile()
    const { extensions: all = {} } = file.receipt
    const { info } = all['offer-receipt'] as { info: { receipt: unknown } }
    const extensions = { 'offer-receipt': { info: { receipt: info.receipt } } }
    const steps = await checkAnswer({ ...file, receipt: { ...file.receipt, extensions } }, signer)
    expect(steps.map(({ verdict }) => verdict)).toEqual(['holds', 'holds', 'holds', 'open'])
  })

  test('never ends in an exception, whatever a member of the receipt holds', async () => {
    const file = await boughtFile()
    const values = [undefined, null, 1.5, 1e300, -1e15, '', 'x', {}, []]
    const members = ['version', 'issuedAt', 'network', 'resourceUrl', 'payer', 'transaction']
    for (const value of values) {
      for (const member of [...members, 'contentHash']) {
        const receipt = structuredClone(file.receipt)
        const { info } = Object(receipt.extensions)['offer-receipt']
        info.contentReceipt.payload[member] = value
        expect(failing(await checkAnswer({ ...file, receipt }, signer)), member).not.toEqual([])
      }
      for (const member of ['payer', 'network', 'transaction']) {
        const receipt = { ...file.receipt, [member]: value }
        expect(failing(await checkAnswer({ ...file, receipt }, signer))).toEqual(['payment'])
      }
      const extensions = {
        'offer-receipt': { info: { contentReceipt: { payload: value, signature: '0x12' } } },
      }
      const receipt = { ...file.receipt, extensions } as SettleResponse
      expect(failing(await checkAnswer({ ...file, receipt }, signer))).toContain('signature')
    }
  })

  test('fails without a signature, and for a malformed one', async () => {
    const { path, receipt } = await boughtFile()
    const { extensions: _, ...unsigned } = receipt
    expect(failing(await checkAnswer({ path, answer, receipt: unsigned }, signer))).toEqual([
      'signature',
    ])
    const text = JSON.stringify(receipt).replaceAll(
      /"signature":"0x[0-9a-f]+"/g,
      '"signature":"0x12"',
    )
    expect(failing(await checkAnswer({ path, answer, receipt: JSON.parse(text) }, signer))).toEqual(
      ['signature'],
    )
  })
})

describe('what the check reads', () => {
  test.each([
    ['the file that the page saves', (file: AnswerFile) => answerFileText(file)],
    [
      'the output of perpscope buy --json',
      ({ path, answer, receipt }: AnswerFile) =>
        JSON.stringify({ path, charged: true, price_usdc: 0.025, payee: '0x', receipt, answer }),
    ],
    [
      'Bought of the client',
      ({ answer, receipt }: AnswerFile) =>
        JSON.stringify({ answer, receipt, etag: '"1"', isReused: false }, null, 4),
    ],
    [
      'the result of an MCP tool',
      ({ answer, receipt }: AnswerFile) =>
        JSON.stringify({
          content: [{ type: 'text', text: JSON.stringify(answer) }],
          structuredContent: answer,
          _meta: { 'x402/payment-response': receipt },
        }),
    ],
  ])('is %s', async (_what, textOf) => {
    const file = readAnswerFile(textOf(await boughtFile()))
    expect(failing(await checkAnswer(file, signer))).toEqual([])
    expect(file.answer).toEqual(answer)
  })

  test('is an answer as it was received, with the header of its response', async () => {
    const { receipt } = await boughtFile()
    const header = btoa(JSON.stringify(receipt))
    const file = readAnswerFile(JSON.stringify(answer), `PAYMENT-RESPONSE: ${header}\n`)
    expect(failing(await checkAnswer(file, signer))).toEqual([])
  })

  test('is one receipt: that of the text, or that of the header', async () => {
    const { answer, receipt } = await boughtFile()
    const header = btoa(JSON.stringify(receipt))
    const result = { structuredContent: answer, _meta: { 'x402/payment-response': receipt } }
    for (const whole of [{ answer, receipt }, result])
      expect(() => readAnswerFile(JSON.stringify(whole), header)).toThrow(/has a receipt/)
    for (const bare of [{ answer, receipt: null }, { structuredContent: answer }])
      expect(readAnswerFile(JSON.stringify(bare), header).receipt).toEqual(receipt)
  })

  test.each([
    ['no JSON', 'hello', '', /not a JSON object/],
    ['a list', '[]', '', /not a JSON object/],
    ['an answer alone', '{"coin":"ETH"}', '', /receipt is missing/],
    ['a broken header', '{"coin":"ETH"}', '%%%', /not JSON in base64/],
    ['a text with two values of a member', '{"coin":"ETH","coin":"BTC"}', '', /names "coin" twice/],
    [
      'a header with two values of a member',
      '{"coin":"ETH"}',
      btoa('{"transaction":"0x1","extensions":{"a":1,"\\u0061":2}}'),
      'The PAYMENT-RESPONSE header names "a" twice.',
    ],
    ['an answer that cost nothing', '{"answer":{},"receipt":null}', '', /receipt is missing/],
  ])('is not %s', (_what, text, header, message) => {
    expect(() => readAnswerFile(text, header)).toThrow(message)
  })
})

property.prop([fc.nat(), fc.integer({ min: 32, max: 126 })], { numRuns: 200 })(
  'one changed character of an answer never passes, unless it means the same',
  async (place, code) => {
    const file = await boughtFile()
    const text = JSON.stringify(answer)
    const at = place % text.length
    const edited = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
    let read: AnswerFile
    try {
      read = { ...file, answer: JSON.parse(edited) }
    } catch {
      return
    }
    const isSame = JSON.stringify(read.answer) === text
    expect(failing(await checkAnswer(read, signer)).length === 0).toBe(isSame)
  },
)
