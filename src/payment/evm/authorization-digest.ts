import { encodeAbiParameters, keccak256, stringToBytes } from 'viem'
import type { Authorization } from './exact-payload.ts'
import type { PaymentNetwork } from './networks.ts'

/** The 32 bytes that a payer signs. */
export type AuthorizationDigest = (authorization: Authorization) => Uint8Array

const WORD_BYTES = 32

/** EIP-3009. */
const typeHash = keccak256(
  stringToBytes(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
)
const domainTypeHash = keccak256(
  stringToBytes(
    'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
  ),
)

/** EIP-712 domain separator of the token on its chain. */
export function domainSeparator({ domain, chainId, asset }: PaymentNetwork): `0x${string}` {
  return keccak256(
    encodeAbiParameters(
      [
        { type: 'bytes32' },
        { type: 'bytes32' },
        { type: 'bytes32' },
        { type: 'uint256' },
        { type: 'address' },
      ],
      [
        domainTypeHash,
        keccak256(stringToBytes(domain.name)),
        keccak256(stringToBytes(domain.version)),
        BigInt(chainId),
        asset,
      ],
    ),
  )
}

/**
 * EIP-712 for one type and token, written at fixed offsets of two buffers; a general encoder walks the type for every
 * payment.
 */
export function authorizationDigest(network: PaymentNetwork): AuthorizationDigest {
  const separator = domainSeparator(network).slice(2)
  return ({ from, to, value, validAfter, validBefore, nonce }) => {
    const message = Buffer.alloc(7 * WORD_BYTES)
    const words = [typeHash, from, to, value, validAfter, validBefore, nonce]
    for (const [index, word] of words.entries()) {
      const digits = typeof word === 'bigint' ? word.toString(16) : word.slice(2)
      message.write(digits.padStart(2 * WORD_BYTES, '0'), index * WORD_BYTES, 'hex')
    }
    const signed = Buffer.alloc(2 + 2 * WORD_BYTES)
    signed.write(`1901${separator}`, 0, 'hex')
    signed.set(keccak256(message, 'bytes'), 2 + WORD_BYTES)
    return keccak256(signed, 'bytes')
  }
}
