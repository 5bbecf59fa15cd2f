import type { Address, PublicClient } from 'viem'
import { createPublicClient, http, parseAbi, parseEventLogs } from 'viem'
import type { EvmChain } from '../../src/simulator/evm/evm-chain.ts'
import type { Charge } from './books.ts'

const abi = parseAbi([
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

/** Reads the token's events, independently of the code under test. */
export class ChainReader {
  readonly #client: PublicClient
  readonly #token: Address
  readonly #payee: Address
  readonly #onCharge: (charge: Charge) => void
  #nextBlock = 0n
  #reading: Promise<void> | null = null

  constructor({ rpcUrl, usdc, accounts }: EvmChain, onCharge: (charge: Charge) => void) {
    this.#onCharge = onCharge
    this.#client = createPublicClient({ transport: http(rpcUrl) })
    this.#token = usdc
    this.#payee = accounts.merchant.address
  }

  /** Reports every transfer to the service that is in a block by now. */
  async catchUp(): Promise<void> {
    // A reading in progress may have begun before the transfer that the caller expects.
    await this.#reading?.catch(() => undefined)
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const head = await this.#client.getBlockNumber({ cacheTime: 0 })
    if (head < this.#nextBlock) return
    const raw = await this.#client.getLogs({
      address: this.#token,
      fromBlock: this.#nextBlock,
      toBlock: head,
    })
    this.#nextBlock = head + 1n
    const logs = parseEventLogs({ abi, logs: raw })
    for (const use of logs) {
      if (use.eventName !== 'AuthorizationUsed') continue
      const transfer = logs.find(
        (log) =>
          log.eventName === 'Transfer' &&
          log.transactionHash === use.transactionHash &&
          log.logIndex > use.logIndex,
      )
      if (transfer?.eventName !== 'Transfer' || transfer.args.to !== this.#payee) continue
      const { nonce, authorizer: payer } = use.args
      this.#onCharge({
        nonce,
        payer,
        transaction: use.transactionHash,
        amount: transfer.args.value,
      })
    }
  }
}
