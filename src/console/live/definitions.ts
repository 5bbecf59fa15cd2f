type Definitions = Readonly<Record<string, Readonly<Record<string, string>>>>

let loading: Promise<Definitions> | null = null

/**
 * What a member of an answer means, in the words of its schema.
 * @param path such as `spread.slippage[].buy_bps`
 * @returns null if the schema says nothing
 */
export async function definitionOf(analysis: string, path: string): Promise<string | null> {
  loading ??= fetch('/console/definitions.json').then((response) => {
    if (!response.ok) throw new Error(`status ${response.status}`)
    return response.json()
  })
  // The next question asks again.
  const definitions = await loading.catch(() => {
    loading = null
    return null
  })
  return definitions?.[analysis]?.[path] ?? null
}
