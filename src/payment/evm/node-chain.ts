import { createPublicClient, http } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import { nodeReason } from '../node-error.ts'

const RPC_MS_MAX = 5_000

/** Which chain a node serves. @throws OperatingError, without the URL, which may hold a key */
export async function nodeChainId(rpcUrl: string): Promise<number> {
  const transport = http(rpcUrl, { timeout: RPC_MS_MAX, retryCount: 0 })
  try {
    return await createPublicClient({ transport }).getChainId()
  } catch (cause) {
    throw new OperatingError('node_unanswered', nodeReason(cause))
  }
}
