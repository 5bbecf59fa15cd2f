import { Term } from './term.tsx'

export type HeadColumn = {
  readonly title: string
  /** Path of the member whose definition the title shows. */
  readonly path?: string
  /** Analysis that `path` belongs to; the table's by default. */
  readonly analysis?: string
  /** Words, or sentences, which may be broken into lines; numbers by default. */
  readonly kind?: 'text' | 'sentence'
  readonly colSpan?: number
}

type TableHeadProps = {
  readonly analysis?: string
  readonly columns: readonly HeadColumn[]
}

/** The head of a table that is not sorted. */
export function TableHead({ analysis: own = '', columns }: TableHeadProps) {
  return (
    <thead>
      <tr>
        {columns.map(({ title, path, analysis = own, kind, colSpan }) => (
          <th key={title} scope="col" class={kind} colSpan={colSpan}>
            {path === undefined ? (
              title
            ) : (
              <Term analysis={analysis} path={path}>
                {title}
              </Term>
            )}
          </th>
        ))}
      </tr>
    </thead>
  )
}
