const RETRY_MS = 3_000

/**
 * Loads the code of a plot, again while the service cannot be reached.
 * @returns null once the plot is no longer wanted
 */
export async function plotCode<Code>(
  load: () => Promise<Code>,
  isWanted: () => boolean,
): Promise<Code | null> {
  while (isWanted()) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
  return null
}
