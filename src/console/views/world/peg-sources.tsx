import type { AnswerInstant } from '../../components/age.tsx'
import { Age } from '../../components/age.tsx'
import type { Column } from '../../components/data-table.tsx'
import { DataTable } from '../../components/data-table.tsx'
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
        columns={columnsOf(instant)}
        rows={sources}
        keyOf={({ id }) => id}
      />
    </>
  )
}

function columnsOf(instant: AnswerInstant): readonly Column<Source>[] {
  return [
    {
      ...{ id: 'source', title: 'Source', path: 'sources[].id', isText: true },
      value: ({ id }) => id,
    },
    {
      ...{ id: 'price', title: 'From one dollar', path: 'sources[].price_usd' },
      value: deviationBps,
      cell: (source) => signedBps(deviationBps(source)),
    },
    {
      ...{ id: 'weight', title: 'Weight', path: 'sources[].weight' },
      value: ({ weight }) => weight,
      cell: ({ weight }) => plain(weight),
    },
    {
      ...{ id: 'age', title: 'Age', path: 'sources[].age_seconds' },
      value: ({ age_seconds }) => age_seconds,
      cell: ({ age_seconds }) => <Age seconds={age_seconds} instant={instant} />,
    },
    { id: 'class', title: 'Class', isText: true, value: (source) => source.class },
    {
      ...{ id: 'confidence', title: 'Confidence', path: 'sources[].confidence_bps' },
      value: ({ confidence_bps }) => confidence_bps,
      cell: ({ confidence_bps }) =>
        confidence_bps === null ? NOTHING : `± ${bps(confidence_bps)}`,
    },
    {
      ...{ id: 'reason', title: 'Not used because', path: 'sources[].reason', isText: true },
      value: ({ reason }) => reason,
      cell: ({ reason }) => (reason === null ? '' : <span class="tone-warn">{word(reason)}</span>),
    },
  ]
}

function deviationBps({ price_usd }: Source): number | null {
  return price_usd === null ? null : (price_usd - 1) * 10_000
}
