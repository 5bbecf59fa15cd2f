/** What is known about the quality of an estimate. */
export type ProofStatus = 'measured' | 'stated' | 'unproven'

export type EstimateFamily = {
  readonly id: string
  readonly title: string
  /** Path of the analysis. */
  readonly path: string
  readonly status: ProofStatus
  /** What the answers say today. */
  readonly today: string
  /** The comparison by which the estimate will be judged. */
  readonly control: string
}

export const statusTitles: Readonly<Record<ProofStatus, string>> = {
  measured: 'measured in the answer',
  stated: 'error stated, not measured',
  unproven: 'not validated',
}

/** Every kind of estimate that is sold. Facts, such as prices, are none. */
export const families: readonly EstimateFamily[] = [
  {
    id: 'slippage',
    title: 'Slippage of an order',
    path: '/spread/{coin}',
    status: 'measured',
    today:
      'The newest executions, up to 256, are compared with the estimate from the book before each. calibration has the errors.',
    control: 'the square-root law',
  },
  {
    id: 'volatility',
    title: 'Volatility of the next 24 h',
    path: '/volatility/{coin}',
    status: 'measured',
    today:
      'Past forecasts and the naive forecast that nothing changes are compared with what followed.',
    control: 'an exponentially weighted average',
  },
  {
    id: 'confluence',
    title: 'Confluence and its votes',
    path: '/pulse/{coin}',
    status: 'unproven',
    today:
      'validated is false and calibration is null: the score measures how far indicators agree, not later prices.',
    control: 'the base rate of coin and hour',
  },
  {
    id: 'zones',
    title: 'Liquidation zones',
    path: '/liquidations/{coin}',
    status: 'unproven',
    today:
      'Zones are a model of open interest and leverage. observed_notional is real positions; the rest is not compared with liquidations.',
    control: 'a random level at the same distance on the same side',
  },
  {
    id: 'cascade',
    title: 'Cascade risk',
    path: '/liquidations/{coin}',
    status: 'unproven',
    today: 'The score is a rule. It is not compared with the moves that follow.',
    control: 'the average true range alone',
  },
  {
    id: 'regime',
    title: 'Regime of the market',
    path: '/screener',
    status: 'unproven',
    today:
      'The label follows a published rule with a version. What follows a regime is not measured.',
    control: 'the unconditional volatility and correlation',
  },
  {
    id: 'funding',
    title: 'Next funding rate',
    path: '/funding/{coin}',
    status: 'unproven',
    today: 'The predicted rate is the running estimate of the venue. Its error is not measured.',
    control: 'the present rate persists',
  },
  {
    id: 'gaps',
    title: 'Price gaps and peg levels',
    path: '/basis, /cex-dex, /arb, /depeg',
    status: 'stated',
    today:
      'expected_error_bps states the error of each source. Whether a gap lasts as long as stated is not measured.',
    control: 'a gap of the same size at another time',
  },
]
