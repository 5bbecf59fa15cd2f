import { expect, test } from 'vitest'
import { printable, terminalText } from './printable.ts'

test.each([
  ['\u001b[2J', '?[2J'],
  ['\u009b2J\u007f', '?2J?'],
  ['a\r\nb\tc', 'a??b?c'],
  ['\u202eabc\u2066\u200b\u2028', '?abc???'],
  ['\ud800', '?'],
  ['é 日本 😀 – µ', 'é 日本 😀 – µ'],
])('%j is printed as %j', (text, printed) => expect(printable(text)).toBe(printed))

test.each([
  ['lines\n\tof text', 'lines\n\tof text'],
  ['\u001b[32mok\u001b[39m', '\u001b[32mok\u001b[39m'],
  ['\u001b[90m│\u001b[39m', '\u001b[90m│\u001b[39m'],
  ['\u001b[8mhidden\u001b]0;title\u0007\r', '?[8mhidden?]0;title??'],
  ['\u001b[2J\u001b[1;31m\u202e', '?[2J?[1;31m?'],
])('a terminal shows %j as %j', (text, shown) => expect(terminalText(text)).toBe(shown))
