import { Command } from 'commander'
import { expect, test } from 'vitest'
import { verifyOptions } from './verify.ts'

const SIGNER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

function signerOf(text: string): unknown {
  const command = new Command().exitOverride().configureOutput({ writeErr: () => undefined })
  for (const option of verifyOptions) command.addOption(option)
  return command.parse(['--signer', text], { from: 'user' }).opts()['signer']
}

test('the signer is an address, in lower case or with its checksum', () => {
  expect(signerOf(SIGNER)).toBe(SIGNER)
  expect(signerOf(SIGNER.toLowerCase())).toBe(SIGNER)
})

// With another value the check would report that another service signed the receipt.
test.each(['nonsense', SIGNER.slice(2), SIGNER.slice(0, -1), ''])(
  'the signer is not "%s"',
  (text) => expect(() => signerOf(text)).toThrow(/not a 0x address/),
)
