type BandProps = {
  /** The whole state in words, for screen readers. */
  readonly label: string
  /** From left to right, of equal width. */
  readonly parts: readonly { readonly name: string; readonly level: number }[]
  /** At 0 to 1 of the width; a narrow window has no room for the minor ones. */
  readonly marks: readonly {
    readonly at: number
    readonly text: string
    readonly isMinor?: boolean
  }[]
  readonly value: number
  /** Interval around the value. */
  readonly interval?: { readonly from: number; readonly to: number }
}

/** A value within its levels; the more a level means, the stronger is its color. */
export function Band({ label, parts, marks, value, interval }: BandProps) {
  const left = (share: number) => ({ left: `${100 * share}%` })
  return (
    <div class="band" role="img" aria-label={label}>
      <div class="band-parts">
        {parts.map(({ name, level }, at) => (
          <span key={`${name} ${at < parts.length / 2}`} class={`band-part level-${level}`}>
            {name}
          </span>
        ))}
        {interval && (
          <span
            class="band-interval"
            style={{
              ...left(interval.from),
              width: `${100 * (interval.to - interval.from)}%`,
            }}
          />
        )}
        <span class="band-value" style={left(value)} />
      </div>
      <div class="band-marks">
        {marks.map(({ at, text, isMinor = false }) => (
          <span key={text} class={isMinor ? 'minor' : undefined} style={left(at)}>
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}
