/** A whole number of a query, or what stands for it where it is absent or nonsense. */
export function queryNumber(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name)
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : otherwise
}
