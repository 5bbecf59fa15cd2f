import { bits } from '../market/noise.ts'

/** Hexadecimal digits drawn from a key. */
export function hexText(key: number, digits: number): string {
  let text = ''
  for (let i = 0; text.length < digits; i++) text += bits(key, i).toString(16).padStart(8, '0')
  return text.slice(0, digits)
}
