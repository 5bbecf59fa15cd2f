import { createHash } from 'node:crypto'
import { documentContracts } from '../../compute/analyses/registry.ts'
import { version } from '../../config/environment.ts'
import type { EngineOrigin } from '../../link/message.ts'
import { marketOf } from '../venue-source.ts'

type Origin = Omit<EngineOrigin, 'sentAtMs'>

/** Of this process, as an engine sends it and as a gateway requires it. */
export function originOf(source: string): Origin {
  const forms = documentContracts.map(({ id, defaultView, document }) => [
    id,
    defaultView,
    document,
  ])
  const digest = createHash('sha256').update(JSON.stringify(forms)).digest('hex')
  return { version, market: marketOf(source), documentForm: digest.slice(0, 16) }
}

/** What keeps a gateway from selling the documents of an engine; empty if nothing does. */
export function differencesOf(gateway: Origin, engine: Origin): readonly string[] {
  return [
    ...(gateway.market === engine.market
      ? []
      : [`the engine has --source at ${engine.market}, this gateway at ${gateway.market}`]),
    ...(gateway.documentForm === engine.documentForm
      ? []
      : [
          `the engine is version ${engine.version} and its documents have another form than those of this gateway, version ${gateway.version}`,
        ]),
  ]
}
