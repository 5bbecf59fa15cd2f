import { SignedBar } from '../../components/bar.tsx'
import type { Column } from '../../components/data-table.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { toneOf } from '../../components/figure.tsx'
import { NOTHING, plain, sharePercent, signedPercent, usd, word } from '../../components/format.ts'
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
    <table class="bars">
      <tbody>
        {Object.entries(scores).map(([sector, score]) => (
          <tr key={sector}>
            <th scope="row">{sector}</th>
            <td>{score !== null && <SignedBar share={2 * score - 1} />}</td>
            <td>{plain(score)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const columns: readonly Column<Sector>[] = [
  { id: 'sector', title: 'Sector', isText: true, value: ({ sector }) => sector },
  {
    ...{ id: 'score', title: 'Score', path: 'sentiment.sectors[].score' },
    value: ({ score }) => score,
    cell: ({ score }) => plain(score),
  },
  {
    ...{ id: 'class', title: 'Class', path: 'sentiment.sectors[].bucket', isText: true },
    value: ({ bucket }) => bucket,
    cell: ({ bucket }) => word(bucket),
  },
  {
    ...{ id: 'return', title: 'Return, 24 h', path: 'sentiment.sectors[].return_24h_pct' },
    value: ({ return_24h_pct }) => return_24h_pct,
    cell: ({ return_24h_pct: value }) => (
      <span class={`tone-${toneOf(value)}`}>{signedPercent(value)}</span>
    ),
  },
  {
    ...{ id: 'breadth', title: 'Breadth', path: 'sentiment.sectors[].breadth_pct' },
    value: ({ breadth_pct }) => breadth_pct,
    cell: ({ breadth_pct }) => sharePercent(breadth_pct),
  },
  {
    ...{ id: 'funding', title: 'Funding p.a.', path: 'sentiment.sectors[].funding_apr_pct' },
    value: ({ funding_apr_pct }) => funding_apr_pct,
    cell: ({ funding_apr_pct }) => signedPercent(funding_apr_pct, 1),
  },
  {
    ...{ id: 'interest', title: 'Open interest', path: 'sentiment.sectors[].oi_usd' },
    value: ({ oi_usd }) => oi_usd,
    cell: ({ oi_usd }) => usd(oi_usd),
  },
  {
    ...{ id: 'coins', title: 'Coins', path: 'sentiment.sectors[].coins' },
    value: ({ coins }) => coins,
  },
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
]

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
