import { getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { describe, expect, test } from 'vitest'
import { checksummed } from './checksummed.ts'
import { knownAddresses, payeeFaults } from './payee.ts'

/** Of the examples in EIP-55. */
const WALLET = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

describe('an address in', () => {
  test.each([
    ['the right case', WALLET, true],
    ['small letters', WALLET.toLowerCase(), true],
    ['capitals', `0x${WALLET.slice(2).toUpperCase()}`, true],
    ['another case', WALLET.replace('aA', 'Aa'), false],
    ['the right case, one digit mistyped', WALLET.replace('6053', '6054'), false],
  ])('%s', (_what, text, fits) => {
    expect(checksummed(text).fits).toBe(fits)
    expect(checksummed(text).spelled).toBe(getAddress(text.toLowerCase()))
  })
})

describe('money is paid neither', () => {
  test.each(knownAddresses)('to %s, %s', (address, what) => {
    expect(getAddress(address.toLowerCase()), 'it is spelled right').toBe(address)
    expect(payeeFaults(address, [])).toEqual([expect.stringContaining(what)])
  })

  test.each([
    ['a precompile', `0x${'9'.padStart(40, '0')}`],
    ['the last reserved one', `0x${'ffff'.padStart(40, '0')}`],
    ['WETH of every OP chain', '0x4200000000000000000000000000000000000006'],
  ] as const)('to %s', (_what, address) => {
    expect(payeeFaults(address, [])).toEqual([expect.stringContaining('reserved')])
  })

  test.each(['--facilitator-key', '--receipt-key'])('to a key that lies here: %s', (option) => {
    const key = generatePrivateKey()
    expect(payeeFaults(privateKeyToAddress(key), [{ option, key }])).toEqual([
      expect.stringContaining(`is the address of ${option}`),
    ])
  })

  test('but to a wallet it is', () => {
    expect(payeeFaults(WALLET, [{ option: '--receipt-key', key: generatePrivateKey() }])).toEqual(
      [],
    )
    expect(payeeFaults('0x4200000000000000000000000000000000010000', [])).toEqual([])
  })
})
