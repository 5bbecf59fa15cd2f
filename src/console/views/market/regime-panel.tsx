import { SignedBar } from '../../components/bar.tsx'
import { Figure, Figures, toneOf } from '../../components/figure.tsx'
import { duration, NOTHING, plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Term } from '../../components/term.tsx'
import { facts, now } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'
import { useDocument } from '../../live/use-document.ts'

type Regime = AnswerOf<'pulse'>['regime']

/** Drivers of the market regime. Every /pulse contains them, so the free one of the sample coin is read. */
export function RegimePanel() {
  const { coins, sample } = facts()
  const coin = sample?.coin ?? (coins.includes('BTC') ? 'BTC' : (coins[0] ?? 'BTC'))
  const name = `/pulse/${encodeURIComponent(coin)}`
  const state = useDocument<AnswerOf<'pulse'>>(name)
  return (
    <Panel title="Regime drivers" name={name} state={state}>
      {({ regime }) => (
        <>
          <Figures>
            <Figure analysis="pulse" path="regime.current" label="Regime">
              {word(regime.current)}
            </Figure>
            <Figure analysis="pulse" path="regime.score" label="Score" tone={toneOf(regime.score)}>
              {plain(regime.score)}
            </Figure>
            <Figure analysis="pulse" path="regime.since" label="Duration">
              {regime.since === null ? NOTHING : duration(now.value - regime.since * 1_000)}
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
      <thead>
        <tr>
          <th scope="col" colSpan={2}>
            Driver
          </th>
          <th scope="col">
            <Term analysis="pulse" path="regime.drivers[].value">
              Value
            </Term>
          </th>
          <th scope="col">
            <Term analysis="pulse" path="regime.drivers[].contribution">
              Contribution
            </Term>
          </th>
        </tr>
      </thead>
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
