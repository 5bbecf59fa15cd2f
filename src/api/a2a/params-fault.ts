import { isRecord } from '../../domain/json.ts'
import type { JsonRpcMessage } from '../json-rpc-scope.ts'

/** Parameters of a type for which the SDK answers with an internal error; null for others, which it judges itself. */
export function paramsFault({ method, params }: JsonRpcMessage): string | null {
  if (!isRecord(params)) return null
  const { id, message, configuration, pushNotificationConfig } = params
  if (id !== undefined && typeof id !== 'string') return 'id must be a string.'
  if (isRecord(message) && Array.isArray(message['parts']) && !message['parts'].every(isPart))
    return 'Each item of parts must be an object, and file in a file part, too.'
  const lists = [
    ['extensions', message],
    ['referenceTaskIds', message],
    ['acceptedOutputModes', configuration],
  ] as const
  for (const [name, owner] of lists)
    if (isRecord(owner) && !Array.isArray(owner[name] ?? [])) return `${name} must be an array.`
  if (method === 'tasks/pushNotificationConfig/set' && !isRecord(pushNotificationConfig))
    return 'pushNotificationConfig must be an object.'
  return null
}

function isPart(part: unknown): boolean {
  return isRecord(part) && (part['kind'] !== 'file' || isRecord(part['file']))
}
