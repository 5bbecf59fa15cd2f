/** What the client takes from where it runs, unless it is told otherwise. Its only door to the outside. */
export const platform = {
  fetch: (url: string, init: { readonly headers: Record<string, string> }) =>
    globalThis.fetch(url, init),
  nowMs: () => Date.now(),
  wait: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}
