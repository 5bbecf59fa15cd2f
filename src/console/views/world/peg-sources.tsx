import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import { columnsOf, DataTable } from '../../components/data-table.tsx'
import { toned } from '../../components/figure.tsx'
import { bps, NOTHING, plain, signedBps, word } from '../../components/format.ts'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'

type Source = AnswerOf<'depeg'>['sources'][number]

type PegSourcesProps = {
  readonly sources: readonly Source[]
  readonly instant: AnswerInstant
}

/** Every price of the peg with its vote, or why it has none. */
export function PegSources({ sources, instant }: PegSourcesProps) {
  return (
    <>
      <TermHeading title="Sources" analysis="depeg" path="sources" />
      <DataTable
        label="Sources of the peg"
        analysis="depeg"
        parameter="sources"
        columns={sourceColumns(instant)}
        rows={sources}
        keyOf={({ id }) => id}
      />
    </>
  )
}

function sourceColumns(instant: AnswerInstant) {
  return columnsOf<Source>((column) => [
    column('source', 'Source', 'sources[].id', String, { isText: true }),
    {
      ...{ id: 'price', title: 'From one dollar', path: 'sources[].price_usd' },
      value: deviationBps,
      cell: (source) => signedBps(deviationBps(source)),
    },
    column('weight', 'Weight', 'sources[].weight', (weight) => plain(weight)),
    column('age', 'Age', 'sources[].age_seconds', (seconds) => (
      <Age seconds={seconds} instant={instant} />
    )),
    { id: 'class', title: 'Class', isText: true, value: (source) => source.class },
    column('confidence', 'Confidence', 'sources[].confidence_bps', (confidence) =>
      confidence === null ? NOTHING : `± ${bps(confidence)}`,
    ),
    column(
      'reason',
      'Not used because',
      'sources[].reason',
      (reason) => (reason === null ? '' : toned('warn', word(reason))),
      { isText: true },
    ),
  ])
}

function deviationBps({ price_usd }: Source): number | null {
  return price_usd === null ? null : (price_usd - 1) * 10_000
}
