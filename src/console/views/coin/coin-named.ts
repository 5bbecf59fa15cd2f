/** The coin of this name or, else, the first that begins with it or contains it, in any case; null if none does. */
export function coinNamed(text: string, coins: readonly string[]): string | null {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return null
  const tests = [
    (name: string) => name === wanted,
    (name: string) => name.startsWith(wanted),
    (name: string) => name.includes(wanted),
  ]
  for (const test of tests) {
    const found = coins.find((coin) => test(coin.toLowerCase()))
    if (found !== undefined) return found
  }
  return null
}
