/** The asset of each feed, by id. */
export type Feeds = ReadonlyMap<string, string>

/** The ids are part of the URL, which servers limit to some 8 kB. */
const CHUNK_IDS_MAX = 50

type Chunk = { readonly isCore: boolean; feeds: Feeds }

/**
 * The distribution of feeds over streams. A feed keeps its stream, so that a new coin reopens one stream
 * only. The core feeds have a stream of their own, which a refused feed cannot disturb.
 */
export class FeedChunks {
  readonly #core: ReadonlySet<string>
  readonly #chunks: Chunk[] = []
  /** End of the exclusion of each refused feed, by id. */
  readonly #excluded = new Map<string, number>()

  /** @param core assets */
  constructor(core: ReadonlySet<string>) {
    this.#core = core
  }

  /** None is empty. A chunk with the same feeds is the same object as before. */
  get chunks(): readonly Feeds[] {
    return this.#chunks.map(({ feeds }) => feeds).filter(({ size }) => size > 0)
  }

  /** Removes a refused feed; from `untilMs` on it can be placed again. */
  exclude(id: string, untilMs: number): void {
    this.#excluded.set(id, untilMs)
    this.#keep((_, one) => one !== id)
  }

  /** @param wanted ids by asset */
  set(wanted: ReadonlyMap<string, string>, nowMs: number): void {
    this.#keep((asset, id) => wanted.get(asset) === id)
    const placed = new Set(this.#chunks.flatMap(({ feeds }) => [...feeds.keys()]))
    for (const [asset, id] of wanted) {
      if (placed.has(id) || nowMs < (this.#excluded.get(id) ?? 0)) continue
      placed.add(id)
      this.#place(asset, id)
    }
  }

  #place(asset: string, id: string): void {
    const isCore = this.#core.has(asset)
    let chunk = this.#chunks.find((one) => one.isCore === isCore && one.feeds.size < CHUNK_IDS_MAX)
    if (chunk === undefined) {
      chunk = { isCore, feeds: new Map() }
      this.#chunks.push(chunk)
    }
    chunk.feeds = new Map([...chunk.feeds, [id, asset]])
  }

  #keep(isKept: (asset: string, id: string) => boolean): void {
    for (const chunk of this.#chunks) {
      const kept = [...chunk.feeds].filter(([id, asset]) => isKept(asset, id))
      if (kept.length < chunk.feeds.size) chunk.feeds = new Map(kept)
    }
  }
}
