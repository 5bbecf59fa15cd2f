import type { Hex } from 'viem'
import { encodeFunctionData, parseAbi, toHex } from 'viem'
import { OperatingError } from '../../domain/errors.ts'
import { nodeReason } from '../node-error.ts'
import { revertReason } from './node-answer.ts'
import type { NodeClient } from './node-client.ts'

const abi = parseAbi([
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
])
/** EIP-1271: the selector of the function as a 32-byte word, as the token requires. */
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`
/** Gas limit of the check; the transfer pays for no more. */
const GAS_MAX = 200_000n
/** Forged signatures cause requests; this bounds the concurrent ones. */
const QUESTIONS_MAX = 32

/** Asks contract wallets whether they accept a signature. */
export class ContractWallets {
  readonly #node: NodeClient
  #questions = 0

  constructor(node: NodeClient) {
    this.#node = node
  }

  /**
   * One request to the node. An address without a contract accepts nothing.
   * @throws OperatingError when the node does not answer
   */
  async accepts(wallet: Hex, digest: Uint8Array, signature: Hex): Promise<boolean> {
    if (this.#questions >= QUESTIONS_MAX)
      throw new OperatingError(
        'wallets_crowded',
        `${QUESTIONS_MAX} wallet signatures are being checked`,
      )
    const args = [toHex(digest), signature] as const
    const data = encodeFunctionData({ abi, functionName: 'isValidSignature', args })
    const transaction = { to: wallet, data, gas: toHex(GAS_MAX) }
    this.#questions += 1
    try {
      const answer = await this.#node.request({
        method: 'eth_call',
        params: [transaction, 'latest'],
      })
      return answer.slice(0, MAGIC.length) === MAGIC
    } catch (cause) {
      if (revertReason(cause) !== null) return false
      throw new OperatingError('node_unanswered', nodeReason(cause))
    } finally {
      this.#questions -= 1
    }
  }
}
