import type { Address, Hex } from 'viem'
import { getAddress } from 'viem'
import { MalformedPayment, requireText } from '../payload.ts'

/** @throws MalformedPayment */
export function decodeAddress(value: unknown, name: string): Address {
  return getAddress(decodeHex(value, 20, name))
}

/** Reads a decimal string. @throws MalformedPayment */
export function decodeUint(value: unknown, bits: number, name: string): bigint {
  const digits = requireText(value, name)
  if (!/^\d{1,78}$/.test(digits))
    throw new MalformedPayment(`${name} must be a decimal number in a string`)
  const number = BigInt(digits)
  if (number >= 2n ** BigInt(bits)) throw new MalformedPayment(`${name} must fit ${bits} bits`)
  return number
}

/** @param bytes exact length, or the range of lengths. @throws MalformedPayment */
export function decodeHex(
  value: unknown,
  bytes: number | { readonly max: number },
  name: string,
): Hex {
  const digits = requireText(value, name)
  const [min, max] = typeof bytes === 'number' ? [bytes, bytes] : [1, bytes.max]
  const length = (digits.length - 2) / 2
  if (!/^0x[0-9a-f]*$/i.test(digits) || !Number.isInteger(length) || length < min || length > max) {
    const range = min === max ? `${min}` : `${min} to ${max}`
    throw new MalformedPayment(`${name} must be ${range} bytes in hexadecimal`)
  }
  // Lower case, so that equal values are equal strings.
  return `0x${digits.slice(2).toLowerCase()}`
}
