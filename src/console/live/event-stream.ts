/** Without an event for so long, the connection is lost. */
const SILENT_MS_MAX = 5_000
/** A connection that is open at one end only reports no error, so after this it is replaced. */
const DEAD_MS_MAX = 3 * SILENT_MS_MAX
const RECONNECT_MS = 1_000
const WATCH_MS = 500

type StreamOptions = {
  /** What takes the data of an event, by its name. */
  readonly events: Readonly<Record<string, (data: string) => void>>
  readonly onLost: () => void
  /** The stream was refused; it is tried again. */
  readonly onRefused: () => void
}

/**
 * Server-sent events of one URL, by one connection at a time, and none while the page is out of sight: a browser opens six
 * connections to an origin, which six pages would take from all other requests.
 * @returns a function that ends it
 */
export function openStream(url: string, options: StreamOptions): () => void {
  let end = () => {}
  const follow = () => {
    end()
    end = document.hidden ? () => {} : connected(url, options)
  }
  document.addEventListener('visibilitychange', follow)
  follow()
  return () => {
    document.removeEventListener('visibilitychange', follow)
    end()
  }
}

/** @returns a function that ends it */
function connected(url: string, { events, onLost, onRefused }: StreamOptions): () => void {
  let lastEventAtMs = Date.now()
  let retry: ReturnType<typeof setTimeout> | undefined
  let source = connect()
  const watch = setInterval(() => {
    const silentMs = Date.now() - lastEventAtMs
    if (silentMs > SILENT_MS_MAX) onLost()
    if (silentMs > DEAD_MS_MAX) reconnect()
  }, WATCH_MS)

  function connect(): EventSource {
    const made = new EventSource(url)
    for (const [name, take] of Object.entries(events))
      made.addEventListener(name, ({ data }) => {
        lastEventAtMs = Date.now()
        take(data)
      })
    made.addEventListener('error', () => {
      // The browser connects again by itself, except after a refusal.
      if (made.readyState !== EventSource.CLOSED) return
      onLost()
      onRefused()
      clearTimeout(retry)
      retry = setTimeout(reconnect, RECONNECT_MS)
    })
    return made
  }

  function reconnect(): void {
    clearTimeout(retry)
    source.close()
    lastEventAtMs = Date.now()
    source = connect()
  }

  return () => {
    clearInterval(watch)
    clearTimeout(retry)
    source.close()
  }
}
