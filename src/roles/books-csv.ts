import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { stringify } from 'csv-stringify'

/**
 * Writes a table (RFC 4180). A value that a spreadsheet would read as a formula begins with an apostrophe.
 * @param columns in their order
 */
export async function writeBooksCsv<Row extends Readonly<Record<string, unknown>>>(
  path: string,
  columns: readonly (keyof Row & string)[],
  rows: AsyncIterable<Row> | Iterable<Row>,
): Promise<void> {
  const format = { header: true, columns, record_delimiter: 'windows', escape_formulas: true }
  await pipeline(Readable.from(rows), stringify(format), createWriteStream(path))
}
