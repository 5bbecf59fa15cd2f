import { Age } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { TableHead } from '../../components/table-head.tsx'
import { defaultCoin } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'

type Regime = AnswerOf<'pulse'>['regime']

/** Drivers of the market regime. Every /pulse contains them, so the free one of the sample coin is read. */
export function RegimePanel() {
  const coin = defaultCoin()
  return (
    <Panel<AnswerOf<'pulse'>> title="Regime drivers" name={`/pulse/${encodeURIComponent(coin)}`}>
      {({ regime }, instant) => (
        <>
          <Figures>
            <Figure analysis="pulse" path="regime.current" label="Regime">
              {word(regime.current)}
            </Figure>
            <Figure analysis="pulse" path="regime.score" label="Score" tone={toneOf(regime.score)}>
              {plain(regime.score)}
            </Figure>
            <Figure analysis="pulse" path="regime.since" label="Duration">
              <Age
                seconds={regime.since === null ? null : instant.atMs / 1_000 - regime.since}
                instant={instant}
              />
            </Figure>
            <Figure analysis="pulse" path="regime.previous" label="Previous">
              {word(regime.previous)}
            </Figure>
          </Figures>
          {regime.drivers.length === 0 ? (
            <p class="empty">The drivers are unknown while data is insufficient.</p>
          ) : (
            <Drivers drivers={regime.drivers} />
          )}
        </>
      )}
    </Panel>
  )
}

function Drivers({ drivers }: Pick<Regime, 'drivers'>) {
  return (
    <table class="bars">
      <TableHead
        analysis="pulse"
        columns={[
          { title: 'Driver', colSpan: 2 },
          { title: 'Value', path: 'regime.drivers[].value' },
          { title: 'Contribution', path: 'regime.drivers[].contribution' },
        ]}
      />
      <tbody>
        {drivers.map(({ name, value, contribution }) => (
          <tr key={name}>
            <th scope="row">{word(name)}</th>
            <td>
              <SignedBar share={value} />
            </td>
            <td>{signed(value)}</td>
            <td>{signed(contribution, 3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
