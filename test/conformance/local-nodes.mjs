/**
 * Loaded before a client: the public nodes of Solana, whose addresses the clients have built in, are the local chain,
 * and nothing else outside this machine is reached.
 */
const { SOLANA_NODE } = process.env
const isPublicNode = /^api\.(mainnet-beta|devnet)\.solana\.com$/
const direct = globalThis.fetch

globalThis.fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input)
  if (isPublicNode.test(url.hostname) && SOLANA_NODE) return direct(SOLANA_NODE, init)
  if (url.hostname !== '127.0.0.1') throw new Error(`${url.hostname} is not on this machine`)
  return direct(input, init)
}
