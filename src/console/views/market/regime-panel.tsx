import { Age } from '../../components/age.tsx'
import { SignedBar } from '../../components/bar.tsx'
import { FigureList, figure, toneOf } from '../../components/figure.tsx'
import { plain, signed, word } from '../../components/format.ts'
import { Panel } from '../../components/panel.tsx'
import { Table } from '../../components/table.tsx'
import { defaultCoin } from '../../live/service.ts'
import type { AnswerOf } from '../../live/use-document.ts'

/** Drivers of the market regime. Every /pulse contains them, so the free one of the sample coin is read. */
export function RegimePanel() {
  const coin = defaultCoin()
  return (
    <Panel<AnswerOf<'pulse'>> title="Regime drivers" name={`/pulse/${encodeURIComponent(coin)}`}>
      {({ regime }, instant) => (
        <>
          <FigureList
            analysis="pulse"
            rows={[
              figure('Regime', 'regime.current', word(regime.current)),
              figure('Score', 'regime.score', plain(regime.score), toneOf(regime.score)),
              figure(
                'Duration',
                'regime.since',
                <Age
                  seconds={regime.since === null ? null : instant.atMs / 1_000 - regime.since}
                  instant={instant}
                />,
              ),
              figure('Previous', 'regime.previous', word(regime.previous)),
            ]}
          />
          <Table
            look="bars"
            analysis="pulse"
            columns={[
              { title: 'Driver', colSpan: 2 },
              { title: 'Value', path: 'regime.drivers[].value' },
              { title: 'Contribution', path: 'regime.drivers[].contribution' },
            ]}
            rows={regime.drivers.map(({ name, value, contribution }) => ({
              key: name,
              cells: [
                word(name),
                <SignedBar key="bar" share={value} />,
                signed(value),
                signed(contribution, 3),
              ],
            }))}
            none="The drivers are unknown while data is insufficient."
          />
        </>
      )}
    </Panel>
  )
}
