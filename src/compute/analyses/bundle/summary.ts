/** The components that point somewhere, and what they weigh (contract 5.3). */
export const voters = ['pulse', 'sentiment', 'funding'] as const
type Voter = (typeof voters)[number]

const weights: Readonly<Record<Voter, number>> = { pulse: 0.6, sentiment: 0.2, funding: 0.2 }

export const biases = ['bullish', 'bearish', 'neutral'] as const
export type Bias = (typeof biases)[number]

/** 1 bullish, -1 bearish, 0 neither. Of funding the contrarian reading: who is crowded loses. */
export type Votes = Readonly<Record<Voter, -1 | 0 | 1>>

type Conflict = { readonly between: readonly [Voter, Voter]; readonly detail: string }

/** What the components say together, and which of them contradict each other. */
export type Summary = {
  readonly bias: Bias
  /** abs of the weighted mean of the votes, 0 to 1. */
  readonly confidence: number
  /** How many of them point where the bias does. */
  readonly agreeCount: number
  readonly conflicts: readonly Conflict[]
}

export function summaryOf(votes: Votes): Summary {
  const mean = voters.reduce((sum, voter) => sum + weights[voter] * votes[voter], 0)
  // Opposite votes of equal weight cancel, whatever rounding leaves of them.
  const direction = Math.abs(mean) < 1e-9 ? 0 : Math.sign(mean)
  return {
    bias: biasOf(direction),
    confidence: Math.abs(mean),
    agreeCount: voters.filter((voter) => votes[voter] === direction).length,
    conflicts: conflictsOf(votes),
  }
}

export function voteOf(bias: Bias): -1 | 0 | 1 {
  if (bias === 'neutral') return 0
  return bias === 'bullish' ? 1 : -1
}

function conflictsOf(votes: Votes): readonly Conflict[] {
  return voters.flatMap((one, at) =>
    voters.slice(at + 1).flatMap((other): Conflict[] => {
      if (votes[one] * votes[other] >= 0) return []
      const detail = `${said(one, votes)}, ${said(other, votes)}.`
      return [{ between: [one, other], detail }]
    }),
  )
}

function said(voter: Voter, votes: Votes): string {
  const reading = voter === 'funding' ? 'funding, read against the crowd, is' : `${voter} is`
  return `${reading} ${biasOf(votes[voter])}`
}

function biasOf(direction: number): Bias {
  if (direction === 0) return 'neutral'
  return direction > 0 ? 'bullish' : 'bearish'
}
