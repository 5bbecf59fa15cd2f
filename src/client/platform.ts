/** Defaults for network, clock and timer: the client's only access to the platform. */
export const platform = {
  fetch: (url: string, init: { readonly headers: Record<string, string> }) =>
    globalThis.fetch(url, init),
  nowMs: () => Date.now(),
  wait: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}
