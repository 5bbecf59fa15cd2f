import { SignedBar } from '../../components/bar.tsx'
import { columnsOf, DataTable } from '../../components/data-table.tsx'
import { tonedPercent } from '../../components/figure.tsx'
import { NOTHING, plain, sharePercent, signedPercent, usd, word } from '../../components/format.ts'
import { Table } from '../../components/table.tsx'
import { TermHeading } from '../../components/term.tsx'
import type { AnswerOf } from '../../live/use-document.ts'
import { hrefOf } from '../../shell/router.ts'

type Sentiment = AnswerOf<'sentiment'>['sentiment']
type Sector = NonNullable<Sentiment['sectors']>[number]

/** Sectors with all their figures, or with their scores alone where the answer has no more. */
export function SentimentSectors({ sentiment }: { readonly sentiment: Sentiment }) {
  const { sectors, sector_scores } = sentiment
  return (
    <>
      <TermHeading title="Sectors" analysis="sentiment" path="sentiment.sector_scores" />
      {sectors === undefined ? (
        <SectorScores scores={sector_scores} />
      ) : (
        <DataTable
          label="Sentiment of sectors"
          analysis="sentiment"
          parameter="sectors"
          columns={columns}
          rows={sectors}
          keyOf={({ sector }) => sector}
        />
      )}
    </>
  )
}

function SectorScores({ scores }: { readonly scores: Sentiment['sector_scores'] }) {
  return (
    <Table
      look="bars"
      rows={Object.entries(scores).map(([sector, score]) => ({
        key: sector,
        cells: [
          sector,
          score !== null && <SignedBar key="bar" share={2 * score - 1} />,
          plain(score),
        ],
      }))}
    />
  )
}

const columns = columnsOf<Sector>((column) => [
  { id: 'sector', title: 'Sector', isText: true, value: ({ sector }) => sector },
  column('score', 'Score', 'sentiment.sectors[].score', (score) => plain(score)),
  column('class', 'Class', 'sentiment.sectors[].bucket', word, { isText: true }),
  column('return', 'Return, 24 h', 'sentiment.sectors[].return_24h_pct', tonedPercent),
  column('breadth', 'Breadth', 'sentiment.sectors[].breadth_pct', sharePercent),
  column('funding', 'Funding p.a.', 'sentiment.sectors[].funding_apr_pct', (apr) =>
    signedPercent(apr, 1),
  ),
  column('interest', 'Open interest', 'sentiment.sectors[].oi_usd', usd),
  column('coins', 'Coins', 'sentiment.sectors[].coins', String),
  {
    ...{ id: 'leaders', title: 'Leaders', path: 'sentiment.sectors[].leaders', isText: true },
    value: ({ leaders }) => leaders[0] ?? null,
    cell: ({ leaders }) => <Coins coins={leaders} />,
  },
  {
    ...{ id: 'laggards', title: 'Laggards', path: 'sentiment.sectors[].laggards', isText: true },
    value: ({ laggards }) => laggards[0] ?? null,
    cell: ({ laggards }) => <Coins coins={laggards} />,
  },
])

function Coins({ coins }: { readonly coins: readonly string[] }) {
  if (coins.length === 0) return <>{NOTHING}</>
  return (
    <>
      {coins.map((coin, at) => (
        <span key={coin}>
          {at > 0 && ', '}
          <a href={hrefOf('coin', coin)}>{coin}</a>
        </span>
      ))}
    </>
  )
}
