import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'

/** A signing key with its public key. */
export type Ed25519Key = {
  readonly publicKey: Uint8Array
  /** Deterministic (RFC 8032): one message has one signature. */
  sign(message: Uint8Array): Uint8Array
}

/** DER prefix of the 32 key bytes (RFC 8410). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/**
 * Points of small order without their sign, and their non-canonical encodings. A signature with one of them as key or
 * nonce proves nothing, and the network rejects it.
 */
const smallOrder: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
])

/** @param seed 32 bytes */
export function ed25519Key(seed: Uint8Array): Ed25519Key {
  const der = Buffer.concat([PRIVATE_PREFIX, seed])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return {
    publicKey: Uint8Array.from(spki.subarray(PUBLIC_PREFIX.length)),
    sign: (message) => sign(null, message, key),
  }
}

/** As strict as the network. */
export function isSignedBy(
  publicKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (isSmallOrder(publicKey) || isSmallOrder(signature.subarray(0, 32))) return false
  const der = Buffer.concat([PUBLIC_PREFIX, publicKey])
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' })
  return verify(null, message, key, signature)
}

function isSmallOrder(point: Uint8Array): boolean {
  const unsigned = Buffer.from(point)
  unsigned.writeUInt8(unsigned.readUInt8(31) & 0x7f, 31)
  return smallOrder.has(unsigned.toString('hex'))
}
