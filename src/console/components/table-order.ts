/** By which column the rows of a table are ordered. */
export type Sort = { readonly column: string; readonly isDescending: boolean }

/** What a column is ordered by; unknown values are last in both directions. */
export type SortValue = string | number | null

/** @param text as {@link sortText} writes it */
export function readSort(text: string | null): Sort | null {
  const [, sign, column = ''] = text?.match(/^(-?)([^-].*)$/) ?? []
  return column === '' ? null : { column, isDescending: sign === '-' }
}

/** `-volume` for the largest first; null for the order of the answer. */
export function sortText(sort: Sort | null): string | null {
  return sort && (sort.isDescending ? `-${sort.column}` : sort.column)
}

/** What a press on a header does: numbers fall first, texts rise first, the third press restores the order of the answer. */
export function nextSort(current: Sort | null, column: string, isText: boolean): Sort | null {
  const first: Sort = { column, isDescending: !isText }
  if (current?.column !== column) return first
  return current.isDescending === first.isDescending ? { column, isDescending: isText } : null
}

/** A new array; equal rows keep their order. */
export function ordered<Row>(
  rows: readonly Row[],
  sortValueOf: (row: Row) => SortValue,
  isDescending: boolean,
): readonly Row[] {
  const keyed = rows.map((row) => ({ row, value: sortValueOf(row) }))
  const sign = isDescending ? -1 : 1
  keyed.sort((one, other) => {
    if (one.value === null || other.value === null)
      return Number(one.value === null) - Number(other.value === null)
    return sign * compared(one.value, other.value)
  })
  return keyed.map(({ row }) => row)
}

const texts = new Intl.Collator('en', { numeric: true })

function compared(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  return texts.compare(String(one), String(other))
}
