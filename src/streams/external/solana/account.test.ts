import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAccounts } from './account.ts'
import { readChainClockMs } from './chain-clock.ts'
import { mutatedBytes } from './testing/mutated-bytes.ts'
import { readTokenAmount } from './token-account.ts'

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const USDC_BYTES = Buffer.from(
  'c6fa7af3bedbad3a3d65f36aabc97431b1bbe4c2d2f6e0e47ca60203452f5d61',
  'hex',
)
const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const SYSVAR = 'Sysvar1111111111111111111111111111111111111'

describe('accounts of a node', () => {
  const info = { data: ['AQID', 'base64'], owner: 'X', lamports: 1, executable: false, space: 3 }
  const result = { context: { apiVersion: '2.2.14', slot: 7 }, value: [info, null] }

  test('are as many as were asked, of one slot', () => {
    expect(readAccounts(result, 2)).toEqual({
      slot: 7,
      accounts: [{ owner: 'X', data: Buffer.of(1, 2, 3) }, null],
    })
    expect(readAccounts(result, 3), 'of another question').toBeNull()
  })

  test.each([
    ['bytes in another encoding', { ...info, data: ['Ldp', 'base58'] }],
    ['parsed data', { ...info, data: { parsed: {} } }],
    ['more bytes than any requested account', { ...info, data: ['A'.repeat(5_000), 'base64'] }],
    ['no owner', { ...info, owner: null }],
    ['a list', []],
  ])('with %s count as absent', (_what, account) => {
    expect(readAccounts({ ...result, value: [account] }, 1)?.accounts).toEqual([null])
  })

  property.prop([fc.jsonValue(), fc.nat({ max: 3 })])(
    'a mutated reply never throws',
    (json, asked) => {
      const accounts = readAccounts(json, asked)
      if (accounts !== null) expect(accounts.accounts).toHaveLength(asked)
    },
  )
})

describe('token account', () => {
  const data = Buffer.alloc(165)
  data.set(USDC_BYTES)
  data.set(USDC_BYTES, 32)
  data.writeBigUInt64LE(14_000_000_123_456n, 64)
  const account = { owner: TOKEN_PROGRAM, data }

  test('returns the balance', () => {
    expect(readTokenAmount(account, USDC, USDC)).toBe(14_000_000_123_456n)
  })

  test.each([
    ['of another token', account, 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'],
    ['of another holder', account, USDC, SYSVAR],
    ['of another program', { ...account, owner: SYSVAR }, USDC],
    ['of another size', { ...account, data: data.subarray(1) }, USDC],
    ['that is not there', null, USDC],
  ])('%s gives null', (_what, other, mint, holder = USDC) => {
    expect(readTokenAmount(other, mint, holder)).toBeNull()
  })

  property.prop([mutatedBytes(data)])('mutated data give a balance or null', (bytes) => {
    const amount = readTokenAmount({ ...account, data: bytes }, USDC, USDC)
    expect(amount === null || amount >= 0n).toBe(true)
  })
})

describe('clock of the chain', () => {
  const data = Buffer.alloc(40)
  data.writeBigInt64LE(1_789_699_386n, 32)
  const account = { owner: SYSVAR, data }

  test('returns the time of the block', () => {
    expect(readChainClockMs(account)).toBe(1_789_699_386_000)
  })

  test.each([
    ['of another program', { ...account, owner: TOKEN_PROGRAM }],
    ['of another size', { ...account, data: Buffer.alloc(41) }],
    ['that is not there', null],
  ])('%s gives null', (_what, other) => {
    expect(readChainClockMs(other)).toBeNull()
  })

  property.prop([mutatedBytes(data)])('mutated data give a number or null', (bytes) => {
    const timeMs = readChainClockMs({ ...account, data: bytes })
    expect(timeMs === null || Number.isSafeInteger(timeMs)).toBe(true)
  })
})
