/** What goes wrong with one request to a simulated facilitator. Without any of it, nothing does. */
export type FacilitatorFault = {
  /** Waits so long before anything else. */
  readonly delayMs?: number
  /** Whether it does what it was asked: before it answers (as it should), a while after that, or never. */
  readonly acts?: 'first' | 'afterwards' | 'never'
  readonly answer?: FaultyAnswer
  /** Applies to every answer. */
  readonly headers?: Readonly<Record<string, string>>
}

type FaultyAnswer =
  /** The connection stays open, and nothing comes. */
  | 'nothing'
  /** The connection is cut. */
  | 'cut'
  /** 200 and a page of HTML. */
  | 'garbage'
  /** 200 and JSON of another shape. */
  | 'nonsense'
  /** A settlement that is on its way. */
  | 'pending'
  | { readonly status: number }
  /** A refusal with this reason. */
  | { readonly reason: string }
  /** 403: this wallet is not served. */
  | { readonly screens: string }
  /** A settlement in this transaction, true or not. */
  | { readonly success: string }
  /** What it truly would say, with these members in place of its own. */
  | { readonly says: Readonly<Record<string, unknown>> }
  /** What it can do. */
  | { readonly supports: readonly { readonly scheme: string; readonly network: string }[] }

/** The faults that facilitators are known for. */
export const facilitatorFaults = {
  cut: { acts: 'never', answer: 'cut' },
  hangs: { acts: 'never', answer: 'nothing' },
  garbage: { acts: 'never', answer: 'garbage' },
  nonsense: { acts: 'never', answer: 'nonsense' },
  'status 401': { acts: 'never', answer: { status: 401 } },
  'status 429': { acts: 'never', answer: { status: 429 } },
  'status 500': { acts: 'never', answer: { status: 500 } },
  slow: { delayMs: 150 },
  refuses: { acts: 'never', answer: { reason: 'insufficient_funds' } },
  reverts: { acts: 'never', answer: { reason: 'invalid_exact_evm_transaction_failed' } },
  'drops its answer': { acts: 'first', answer: 'cut' },
  'acts and hangs': { acts: 'first', answer: 'nothing' },
  'acts and fails': { acts: 'first', answer: { status: 500 } },
  'acts and talks garbage': { acts: 'first', answer: 'garbage' },
  pending: { acts: 'first', answer: 'pending' },
  'confirms late': { acts: 'afterwards', answer: 'pending' },
  'fails and acts later': { acts: 'afterwards', answer: { status: 500 } },
  'acts and says that it failed': {
    acts: 'afterwards',
    answer: { reason: 'settle_exact_evm_transaction_confirmation_timed_out' },
  },
} as const satisfies Readonly<Record<string, FacilitatorFault>>

export type FacilitatorFaultName = keyof typeof facilitatorFaults
