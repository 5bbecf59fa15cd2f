import type { Address } from '@solana/kit'
import { isOffCurveAddress } from '@solana/kit'
import { solanaDevnet, solanaMainnet } from './networks.ts'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM_ADDRESS } from './programs.ts'

const known: ReadonlyMap<string, string> = new Map([
  ['11111111111111111111111111111111', 'the system program'],
  ['1nc1nerator11111111111111111111111111111111', 'the incinerator, where money is burnt'],
  [TOKEN_PROGRAM_ADDRESS, 'the token program'],
  [TOKEN_2022_PROGRAM, 'the token program'],
  [solanaMainnet.asset, 'the mint of USDC'],
  [solanaDevnet.asset, 'the mint of USDC on devnet'],
  ['Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB', 'the mint of USDT'],
  ['So11111111111111111111111111111111111111112', 'the mint of wrapped SOL'],
])
/** As the cluster's own programs and sysvars are spelled. */
const OF_THE_CLUSTER = /1{10}.?$/

/** Why money that is paid to an address would be lost, or is not safe there. Each names its remedy. */
export function solanaPayeeFaults(payTo: Address, feePayer: Address | null): readonly string[] {
  const what =
    known.get(payTo) ??
    (OF_THE_CLUSTER.test(payTo) ? "an account of the cluster's own" : null) ??
    (isOffCurveAddress(payTo) ? 'no key (off the curve): a token account, or mistyped' : null)
  if (what !== null)
    return [`--solana-pay-to ${payTo} is ${what}; give the address of a wallet of yours`]
  return payTo === feePayer
    ? [
        '--solana-pay-to pays the fees as well: a key that lies on a server must not own the income, and no payment may name its fee payer; give another address',
      ]
    : []
}
