import type { Clock } from '../../src/domain/clock.ts'
import type {
  FacilitatorFault,
  FacilitatorFaultName,
} from '../../src/simulator/facilitator/facilitator-fault.ts'
import { facilitatorFaults } from '../../src/simulator/facilitator/facilitator-fault.ts'
import type {
  FacilitatorRequest,
  SimulatedFacilitator,
} from '../../src/simulator/facilitator/simulated-facilitator.ts'
import type { Chance } from '../simulation/chance.ts'
import type { NodeFault } from './flaky-node.ts'

/** Of requests, one in three. */
const FAULTY = 0.33
const names = Object.keys(facilitatorFaults) as FacilitatorFaultName[]

/** Of what the service asks the chain's node, one in eight. */
const NODE_FAULTY = 0.12
const nodeFaults = ['cut', 'status 500', 'answer lost'] as const satisfies readonly NodeFault[]

/** What goes wrong around the service, drawn from the seed and counted, until it ends. */
export class Faults {
  readonly counts = new Map<string, number>()
  #hasEnded = false

  /** For the node that the service asks what became of a payment. */
  ofNode(chance: Chance): () => NodeFault | null {
    return () => {
      if (this.#hasEnded || !chance.is(NODE_FAULTY)) return null
      const fault = chance.pick(nodeFaults)
      this.#count(`node: ${fault}`)
      return fault
    }
  }

  /** For one facilitator, so that none disturbs the draws of another. */
  ofFacilitator(chance: Chance): (request: FacilitatorRequest) => FacilitatorFault | null {
    return ({ operation }) => {
      if (this.#hasEnded || operation === 'supported' || !chance.is(FAULTY)) return null
      const name = chance.pick(names)
      this.#count(`${operation}: ${name}`)
      return facilitatorFaults[name]
    }
  }

  /** Lets one facilitator after the other go away for a while, until they are told to stop. */
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
