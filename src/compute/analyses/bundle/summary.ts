/** Components that have a direction, and their weights. */
export const voters = ['pulse', 'sentiment', 'funding'] as const
type Voter = (typeof voters)[number]

const weights: Readonly<Record<Voter, number>> = { pulse: 0.6, sentiment: 0.2, funding: 0.2 }

export const biases = ['bullish', 'bearish', 'neutral'] as const
export type Bias = (typeof biases)[number]

/** 1 bullish, -1 bearish, 0 neutral, null unknown. Funding votes against the crowded side. */
export type Votes = Readonly<Record<Voter, -1 | 0 | 1 | null>>

type Conflict = { readonly between: readonly [Voter, Voter]; readonly detail: string }

/** Combined direction of the components, and the pairs that contradict each other. */
export type Summary = {
  readonly bias: Bias
  /** abs of the weighted mean of the votes, 0 to 1. */
  readonly confidence: number
  /** Number of votes that equal the bias; an unknown vote equals none. */
  readonly agreeCount: number
  readonly conflicts: readonly Conflict[]
}

export function summaryOf(votes: Votes): Summary {
  const mean = voters.reduce((sum, voter) => sum + weights[voter] * (votes[voter] ?? 0), 0)
  // Opposite votes of equal weight cancel; ignore what rounding leaves.
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
      const [vote, otherVote] = [votes[one] ?? 0, votes[other] ?? 0]
      if (vote * otherVote >= 0) return []
      const detail = `${said(one, vote)}, ${said(other, otherVote)}.`
      return [{ between: [one, other], detail }]
    }),
  )
}

function said(voter: Voter, vote: number): string {
  const reading = voter === 'funding' ? 'funding (contrarian) is' : `${voter} is`
  return `${reading} ${biasOf(vote)}`
}

function biasOf(direction: number): Bias {
  if (direction === 0) return 'neutral'
  return direction > 0 ? 'bullish' : 'bearish'
}
