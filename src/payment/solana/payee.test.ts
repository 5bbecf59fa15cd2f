import { address } from '@solana/kit'
import { describe, expect, test } from 'vitest'
import { solanaMainnet } from './networks.ts'
import { solanaPayeeFaults } from './payee.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'
import { newSolanaBuyer } from './testing/solana-buyer.ts'
import { associatedTokenAccount } from './token-account.ts'

const wallet = address(newSolanaBuyer().address)

describe('money is paid neither', () => {
  test.each([
    ['to the system program', '11111111111111111111111111111111', 'system program'],
    ['to the incinerator', '1nc1nerator11111111111111111111111111111111', 'incinerator'],
    ['to the token program', TOKEN_PROGRAM_ADDRESS, 'token program'],
    ['to its successor', TOKEN_2022_PROGRAM, 'token program'],
    ['to the mint of USDC', solanaMainnet.asset, 'mint of USDC'],
    ['to wrapped SOL', 'So11111111111111111111111111111111111111112', 'wrapped SOL'],
    ['to a sysvar', 'SysvarRent111111111111111111111111111111111', 'native account of the cluster'],
    [
      'to the vote program',
      'Vote111111111111111111111111111111111111111',
      'native account of the cluster',
    ],
  ])('%s', (_what, payTo, words) => {
    expect(solanaPayeeFaults(address(payTo), null)).toEqual([expect.stringContaining(words)])
  })

  test("to a wallet's token account, which is off the curve", async () => {
    const account = await associatedTokenAccount(wallet, solanaMainnet.asset)
    expect(solanaPayeeFaults(account, null)).toEqual([expect.stringContaining('off the curve')])
  })

  test('to who pays the fees', () => {
    expect(solanaPayeeFaults(wallet, wallet)).toEqual([
      expect.stringContaining('is also the fee payer'),
    ])
  })

  test('but to a wallet it is', () => {
    expect(solanaPayeeFaults(wallet, address(newSolanaBuyer().address))).toEqual([])
  })
})
