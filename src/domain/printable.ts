/**
 * Text from outside for a terminal: control and format characters, which a terminal could execute or which could reorder
 * what is read, are shown as `?`.
 */
export function printable(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

/** Output of a command for a terminal: lines, tabs and the colors of its own tables stay, else as {@link printable}. */
export function terminalText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/(\u001b\[[39]\dm|[\n\t])|[\p{C}\p{Zl}\p{Zp}]/gu, (_found, own = '?') => own)
}
