import type { Clock } from '../../src/domain/clock.ts'
import type { FacilitatorFault, FacilitatorFaultName } from '../facilitator/facilitator-fault.ts'
import { facilitatorFaults } from '../facilitator/facilitator-fault.ts'
import type {
  FacilitatorRequest,
  SimulatedFacilitator,
} from '../facilitator/simulated-facilitator.ts'
import type { Chance } from '../simulation/chance.ts'
import type { NodeFault } from './flaky-node.ts'

/** Share of faulty requests to facilitators. */
const FAULTY = 0.33
const names = Object.keys(facilitatorFaults) as FacilitatorFaultName[]

/** Share of faulty requests to the chain's node. */
const NODE_FAULTY = 0.12
const nodeFaults = ['cut', 'status 500', 'answer lost'] as const satisfies readonly NodeFault[]

/** Faults around the service, drawn from the seed and counted. */
export class Faults {
  readonly counts = new Map<string, number>()
  #hasEnded = false

  /** Faults of the node that the service asks for the outcome of payments. */
  ofNode(chance: Chance): () => NodeFault | null {
    return () => {
      if (this.#hasEnded || !chance.is(NODE_FAULTY)) return null
      const fault = chance.pick(nodeFaults)
      this.#count(`node: ${fault}`)
      return fault
    }
  }

  /** Faults of one facilitator; draws of facilitators are independent. */
  ofFacilitator(chance: Chance): (request: FacilitatorRequest) => FacilitatorFault | null {
    return ({ operation }) => {
      if (this.#hasEnded || operation === 'supported' || !chance.is(FAULTY)) return null
      const name = chance.pick(names)
      this.#count(`${operation}: ${name}`)
      return facilitatorFaults[name]
    }
  }

  /** Takes down one facilitator after the other for a while, until stopped. */
  async outages(
    facilitators: readonly SimulatedFacilitator[],
    chance: Chance,
    { clock, isOver }: { readonly clock: Clock; readonly isOver: () => boolean },
  ): Promise<void> {
    const pause = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
    while (!isOver()) {
      await pause(chance.between(500, 3_000))
      const gone = chance.is(0.2) ? facilitators : [chance.pick(facilitators)]
      this.#count(gone.length === 1 ? 'outage of one' : 'outage of all')
      await Promise.all(gone.map((facilitator) => facilitator.goDown()))
      await pause(chance.between(100, 900))
      await Promise.all(gone.map((facilitator) => facilitator.comeBack()))
    }
  }

  end(): void {
    this.#hasEnded = true
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }
}
