type JsonTreeProps = {
  /** Name of the member. */
  readonly name: string
  readonly value: unknown
  /** Levels that are open at first. */
  readonly open: number
}

/** A JSON value as nested lists, whose parts can be closed. */
export function JsonTree({ name, value, open }: JsonTreeProps) {
  if (typeof value !== 'object' || value === null)
    return (
      <li>
        <span class="json-name">{name}</span>{' '}
        <span class={`json-${value === null ? 'null' : typeof value}`}>
          {JSON.stringify(value)}
        </span>
      </li>
    )
  const members = Object.entries(value)
  const size = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`
  return (
    <li>
      <details open={open > 0}>
        <summary>
          <span class="json-name">{name}</span> <span class="json-size">{size}</span>
        </summary>
        <ul class="json">
          {members.map(([member, each]) => (
            <JsonTree key={member} name={member} value={each} open={open - 1} />
          ))}
        </ul>
      </details>
    </li>
  )
}
