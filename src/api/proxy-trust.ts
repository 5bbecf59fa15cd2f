import { BlockList, isIPv6 } from 'node:net'

/**
 * Proxies whose `X-Forwarded-For` is trusted: addresses and networks, or the number of proxies in front of a port that
 * only they can reach.
 */
export type ProxyTrust = readonly string[] | number

/** @returns a test whether a connection comes from a trusted proxy */
export function isTrustedProxy(trust: ProxyTrust | undefined): (address: string) => boolean {
  if (trust === undefined) return () => false
  if (typeof trust === 'number') return () => trust > 0
  const networks = new BlockList()
  for (const network of trust.flatMap((name) => named[name] ?? [name])) {
    const [address = '', prefix] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (prefix === undefined) networks.addAddress(address, family)
    else networks.addSubnet(address, Number(prefix), family)
  }
  // BlockList matches IPv4-mapped IPv6 addresses too.
  return (address) => networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Names of proxy-addr, which Fastify uses. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/** The option `trustProxy` of Fastify, which takes no hop count; the operator states that nothing else reaches the port. */
export function fastifyTrust(
  proxies: ProxyTrust,
): string[] | ((address: string, hop: number) => boolean) {
  return typeof proxies === 'number' ? (_address, hop) => hop < proxies : [...proxies]
}
