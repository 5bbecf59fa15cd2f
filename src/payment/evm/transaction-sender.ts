import type {
  Address,
  Chain,
  Hex,
  PrivateKeyAccount,
  PublicClient,
  TransactionSerializableEIP1559,
  Transport,
} from 'viem'
import { keccak256 } from 'viem'
import { nodeSays } from '../node-error.ts'

/** A transfer with authorization costs about 85,000; nothing that costs much more is signed. */
const GAS_MAX = 200_000n

/**
 * Sends transactions of one account, in order. A nonce is drawn only for a transaction that the chain
 * accepts in a dry run, and is drawn anew from the chain after a failed broadcast, so that no failure
 * leaves a gap behind which all later transactions would wait.
 */
export class TransactionSender {
  readonly #client: PublicClient<Transport, Chain>
  readonly #account: PrivateKeyAccount
  #nextNonce: number | null = null
  #tail: Promise<unknown> = Promise.resolve()

  constructor(client: PublicClient<Transport, Chain>, account: PrivateKeyAccount) {
    this.#client = client
    this.#account = account
  }

  /** @param onSigned learns the hash before the broadcast, whose reply may get lost. */
  async send(call: { to: Address; data: Hex }, onSigned: (hash: Hex) => void): Promise<Hex> {
    const gas = await this.#client.estimateGas({ account: this.#account.address, ...call })
    if (gas > GAS_MAX) throw new RangeError(`needs ${gas} gas, more than ${GAS_MAX}`)
    const fees = await this.#client.estimateFeesPerGas()
    const transaction = {
      ...call,
      ...fees,
      type: 'eip1559',
      chainId: this.#client.chain.id,
      // Headroom: the state may change between the estimate and the block.
      gas: (gas * 12n) / 10n,
    } as const
    return this.#inTurn(async () => {
      const remembered = this.#nextNonce
      try {
        return await this.#broadcast(
          transaction,
          remembered ?? (await this.#pendingNonce()),
          onSigned,
        )
      } catch (cause) {
        // Somebody else sent with this key. Were it this very transaction, mined before a provider sent
        // it once more, then the next one would revert: one more try is safe.
        if (remembered === null || !isNonceTooLow(cause)) throw cause
        return this.#broadcast(transaction, await this.#pendingNonce(), onSigned)
      }
    })
  }

  async #broadcast(
    transaction: TransactionSerializableEIP1559,
    nonce: number,
    onSigned: (hash: Hex) => void,
  ): Promise<Hex> {
    const serializedTransaction = await this.#account.signTransaction({ ...transaction, nonce })
    const hash = keccak256(serializedTransaction)
    onSigned(hash)
    this.#nextNonce = null
    try {
      await this.#client.sendRawTransaction({ serializedTransaction })
    } catch (cause) {
      if (!isAlreadyKnown(cause)) throw cause
    }
    this.#nextNonce = nonce + 1
    return hash
  }

  #pendingNonce(): Promise<number> {
    return this.#client.getTransactionCount({
      address: this.#account.address,
      blockTag: 'pending',
    })
  }

  /** The queue is as long as the settlements in flight, which the claims bound. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const turn = this.#tail.then(task, task)
    this.#tail = turn.catch(() => undefined)
    return turn
  }
}

/** The node has this very transaction: it was sent. */
function isAlreadyKnown(cause: unknown): boolean {
  return nodeSays(cause, /already ?known|already imported|\bknown transaction/i)
}

function isNonceTooLow(cause: unknown): boolean {
  return nodeSays(cause, /nonce too low/i)
}
