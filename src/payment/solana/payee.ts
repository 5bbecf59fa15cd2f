import type { Address } from '@solana/addresses'
import { isOffCurveAddress } from '@solana/addresses'
import { solanaDevnet, solanaMainnet } from './networks.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'

const known: ReadonlyMap<string, string> = new Map([
  ['11111111111111111111111111111111', 'the system program'],
  ['1nc1nerator11111111111111111111111111111111', 'the incinerator, a burn address'],
  [TOKEN_PROGRAM_ADDRESS, 'the token program'],
  [TOKEN_2022_PROGRAM, 'the token program'],
  [solanaMainnet.asset, 'the mint of USDC'],
  [solanaDevnet.asset, 'the mint of USDC on devnet'],
  ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', 'the mint of USDT'],
  ['So11111111111111111111111111111111111111112', 'the mint of wrapped SOL'],
])
/** Addresses of native programs and sysvars. */
const OF_THE_CLUSTER = /1{10}.?$/

/** Why money paid to this address would be lost or unsafe; each entry names its remedy. */
export function solanaPayeeFaults(payTo: Address, feePayer: Address | null): readonly string[] {
  const what =
    known.get(payTo) ??
    (OF_THE_CLUSTER.test(payTo) ? 'a native account of the cluster' : null) ??
    (isOffCurveAddress(payTo)
      ? 'not a public key (off the curve): a token account or a typing error'
      : null)
  if (what !== null) return [`--solana-pay-to ${payTo} is ${what}. Use the address of your wallet.`]
  return payTo === feePayer
    ? [
        '--solana-pay-to is also the fee payer. The key on the server must not own the income, and a payment must not name its fee payer. Use another address.',
      ]
    : []
}
