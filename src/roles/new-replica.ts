import { pulse } from '../compute/analyses/pulse/pulse.ts'
import { EngineReplica } from '../link/engine-replica.ts'

/** Before the first message. */
export function newReplica(): EngineReplica {
  return new EngineReplica({ analysis: pulse.contract.id, view: pulse.contract.defaultView })
}
