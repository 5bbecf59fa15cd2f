/**
 * Text from outside for a terminal: control and format characters, which a terminal could execute or which could reorder
 * what is read, are shown as `?`.
 */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
