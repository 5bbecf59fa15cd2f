const DIGITS = 10
const ADDRESS_DIGITS = 40

/** An address of 20 bytes in the numbers of a checkpoint. */
export const NUMBERS_PER_ACCOUNT = ADDRESS_DIGITS / DIGITS

/** @param account `0x` and 40 hexadecimal digits, lower case */
export function accountToNumbers(account: string): readonly number[] {
  return Array.from({ length: NUMBERS_PER_ACCOUNT }, (_, part) =>
    Number.parseInt(account.slice(2 + part * DIGITS, 2 + (part + 1) * DIGITS), 16),
  )
}

export function accountOf(numbers: Float64Array, at: number): string {
  const parts = Array.from(numbers.subarray(at, at + NUMBERS_PER_ACCOUNT), (part) =>
    part.toString(16).padStart(DIGITS, '0'),
  )
  return `0x${parts.join('')}`
}
