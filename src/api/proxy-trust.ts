import { BlockList, isIPv6 } from 'node:net'

/**
 * Whose `X-Forwarded-For` names the caller: addresses and networks, or how many proxies stand before this port
 * where nobody else can reach it.
 */
export type ProxyTrust = readonly string[] | number

/** @returns whether a connection from an address is a proxy's, by the same rules as the header is believed */
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
  // IPv4 on a socket that takes both is found in either form.
  return (address) => networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** As Fastify has them. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.1/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}
