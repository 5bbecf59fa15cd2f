import { isIP } from 'node:net'
import { isAddress } from '@solana/addresses'
import { InvalidArgumentError } from 'commander'
import type { DexSelection } from '../domain/dex.ts'
import type { SourceId } from '../domain/external.ts'
import { sourceIds } from '../domain/external.ts'
import { dayStartMs } from '../domain/instant.ts'
import { checksummed } from '../payment/evm/checksummed.ts'
import type { FinalityRule } from '../payment/finality.ts'
import { finalities } from '../payment/finality.ts'
import { DEX_NAME } from '../streams/hyperliquid/wire/dexes.ts'

/** Parsers of option values. Each throws `InvalidArgumentError` with the expected form. */

const HEX_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HEX_KEY = /^0x[0-9a-fA-F]{64}$/

export function port(text: string): number {
  const value = integer(text)
  if (value < 0 || value > 65_535) throw new InvalidArgumentError('not a port')
  return value
}

export function integer(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('not an integer')
  return value
}

export function count(text: string): number {
  const value = integer(text)
  if (value < 1) throw new InvalidArgumentError('not a whole number above zero')
  return value
}

export function positive(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('not a positive number')
  return value
}

/** Amounts of a budget: at least one atomic unit. */
export function usdcNumber(text: string): number {
  const value = positive(text)
  if (value < 1e-6 || value > 1e9)
    throw new InvalidArgumentError('not between 0.000001 and 1000000000 USDC')
  return value
}

export function gas(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('not a whole number of gas')
  return BigInt(text)
}

/** From the ten minutes that buyers are promised to a week. */
export function answerMinutes(text: string): number {
  const minutes = integer(text)
  if (minutes < 10 || minutes > 10_080) throw new InvalidArgumentError('not 10 to 10080 minutes')
  return minutes
}

/** At least what analyses read, at most a year. */
export function historyDays(text: string): number {
  const days = integer(text)
  if (days !== 0 && (days < 40 || days > 366))
    throw new InvalidArgumentError('not 0 or 40 to 366 days')
  return days
}

export function ledgerDays(text: string): number {
  const days = integer(text)
  if (days !== 0 && days < 30) throw new InvalidArgumentError('not 0 or 30 days or more')
  return days
}

/** URLs by source; an empty list turns a source off. */
export type SourceUrls = Readonly<Partial<Record<SourceId, readonly string[]>>>

export function sourceUrl(text: string, before: SourceUrls): SourceUrls {
  const [, id = '', list = ''] = /^([^=]+)=(.*)$/.exec(text.trim()) ?? []
  if (!(sourceIds as readonly string[]).includes(id))
    throw new InvalidArgumentError(`not source=urls with one of ${sourceIds.join(', ')}`)
  const items = list.split('|').filter((item) => item.trim() !== '')
  const urls = items.map((item) =>
    urlOf(item, /^(https?|wss?):/, `not an http or websocket URL of ${id} without a fragment`),
  )
  return { ...before, [id]: urls }
}

export function dexSelection(text: string): DexSelection {
  const word = text.trim()
  if (word === 'auto' || word === 'all') return word
  if (word === 'off' || word === '') return []
  const names = [...new Set(word.split(',').map((name) => name.trim()))]
  if (!names.every((name) => DEX_NAME.test(name)))
    throw new InvalidArgumentError("not auto, all, off, or a list of dex names such as 'xyz,flx'")
  return names
}

export function finalityRules(text: string): readonly FinalityRule[] {
  return text.split(',').map((item) => {
    const [name, price] = item.trim().split(':')
    const finality = finalities.find((one) => one === name)
    if (finality === undefined)
      throw new InvalidArgumentError(`not one of ${finalities.join(', ')}: ${item.trim()}`)
    return { finality, upTo: price === undefined ? null : usdcAtomic(price) }
  })
}

/** Exact: USDC has six decimals. */
export function usdcAtomic(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text) ?? []
  if (whole === undefined) throw new InvalidArgumentError('not an amount of USDC such as 0.05')
  return BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0'))
}

/** Some of `all`, separated by commas, each once. */
export function listOf<const One extends string>(
  all: readonly One[],
  text: string,
): readonly One[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  return names.map((name) => {
    const found = all.find((one) => one === name)
    if (found === undefined)
      throw new InvalidArgumentError(`unknown: ${name}; choose from ${all.join(', ')}`)
    return found
  })
}

/** A day stands for its start in UTC. */
export function dayOrInstantMs(text: string): number {
  return instantMs(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text)
}

export function instantMs(text: string): number {
  const timeMs = Date.parse(text)
  // Without a zone the instant would depend on the machine.
  if (
    Number.isNaN(timeMs) ||
    dayStartMs(text.slice(0, 10)) === null ||
    !/^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text)
  )
    throw new InvalidArgumentError('not an instant such as 2026-01-31T12:00:00Z')
  return timeMs
}

/** RFC 6455 allows no fragment, and the engine could not open such a URL. */
export function socketUrl(text: string): string {
  return urlOf(text, /^wss?:/, 'not a websocket URL without a fragment')
}

/** Account addresses of the venue, in lower case. */
export function accounts(text: string): readonly string[] {
  const all = [...new Set(text.split(',').map((item) => item.trim().toLowerCase()))]
  if (!all.every((item) => HEX_ADDRESS.test(item)))
    throw new InvalidArgumentError('not a list of 0x addresses')
  return all
}

export function url(text: string): string {
  const given = urlOf(text, /^https?:/, 'not an http URL without a fragment')
  // The key of a node may be the query.
  return given.includes('?') ? given : given.replace(/\/+$/, '')
}

/** Paths are appended, and a query would swallow them. */
export function baseUrl(text: string): string {
  const base = url(text)
  if (base.includes('?')) throw new InvalidArgumentError('not an http URL without a query')
  return base
}

/** The value of `--source`. */
export function venueSource(text: string): string {
  return text.trim() === 'live' ? 'live' : baseUrl(text)
}

/** Appends to `before`, the values of earlier occurrences of the option. */
export function urlList(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split('|').map(baseUrl)]
}

/** Without the space that a variable or a file may have at its end, and with the scheme in lower case. */
function urlOf(text: string, schemes: RegExp, fault: string): string {
  const given = trimmed(text).replace(/^[a-z]+:/i, (scheme) => scheme.toLowerCase())
  if (!URL.canParse(given) || !schemes.test(given) || /[#\s]/.test(given))
    throw new InvalidArgumentError(fault)
  return given
}

export function trimmed(text: string): string {
  return text.trim()
}

/** Of a file or a folder. An empty one would be the working directory. */
export function path(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('not a path')
  return text
}

/** An address or a name to listen on. In a URL an IPv6 address has brackets. */
export function host(text: string): string {
  const name = text.trim().replace(/^\[(.*)\]$/, '$1')
  if (!/^[^\s/[\]]+$/.test(name)) throw new InvalidArgumentError('not an address to listen on')
  return name
}

/** Like `urlList`; an empty value stands for a facilitator without authorization. */
export function headerValues(text: string, before: readonly string[] = []): readonly string[] {
  const values = text.split('|').map((item) => item.trim())
  return [...before, ...values.map((value) => (value === '' ? value : headerValue(value)))]
}

export function proxies(text: string): number | readonly string[] {
  if (/^\d+$/.test(text)) return integer(text)
  const list = text.split(',').map((item) => item.trim())
  if (list.every(isNetwork)) return list
  throw new InvalidArgumentError(
    'not a number, and not a list of addresses, networks such as 10.0.0.0/8, loopback, linklocal or uniquelocal',
  )
}

function isNetwork(text: string): boolean {
  if (/^(loopback|linklocal|uniquelocal)$/.test(text)) return true
  const [host = '', prefix = '1', ...rest] = text.split('/')
  const bitsMax = isIP(host) === 6 ? 128 : 32
  const isPrefix = /^[1-9]\d*$/.test(prefix) && Number(prefix) <= bitsMax
  return isIP(host) !== 0 && isPrefix && rest.length === 0
}

export function headerValue(text: string): string {
  if (!/^[\x21-\x7e][\x20-\x7e]*$/.test(text)) throw new InvalidArgumentError('not a header value')
  return text
}

/** @returns the address with its checksum (EIP-55) */
export function address(text: string): `0x${string}` {
  if (!HEX_ADDRESS.test(text)) throw new InvalidArgumentError('not a 0x address')
  const { spelled, fits } = checksummed(text)
  if (!fits)
    throw new InvalidArgumentError(
      'the letter case does not match the checksum (EIP-55), so a character may be wrong: copy it again from ' +
        `the wallet (if all digits are right, it is spelled ${spelled})`,
    )
  return spelled
}

export function solanaAddress(text: string): string {
  if (!isAddress(text)) throw new InvalidArgumentError('not 32 bytes in base58')
  return text
}

/** Addresses of Base or Solana, appended to `before`. */
export function payeeList(text: string, before: readonly string[] = []): readonly string[] {
  const all = text.split('|').map((item) => {
    const payee = item.trim()
    if (HEX_ADDRESS.test(payee)) return address(payee)
    if (isAddress(payee)) return payee
    throw new InvalidArgumentError(`not a 0x address, and not a Solana address: ${payee}`)
  })
  return [...before, ...all]
}

/** A Solana wallet file: the seed and the public key. */
export function keyBytes(text: string): Uint8Array {
  const isWhole = /^\s*\[(\s*\d{1,3}\s*,){63}\s*\d{1,3}\s*\]\s*$/.test(text)
  if (!isWhole) throw new InvalidArgumentError('not a list of 64 numbers')
  return Uint8Array.from(JSON.parse(text) as number[])
}

export function key(text: string): `0x${string}` {
  if (!HEX_KEY.test(text)) {
    const hint = HEX_KEY.test(`0x${text}`) ? '; is 0x missing at its start?' : ''
    throw new InvalidArgumentError(`not a 0x private key of 32 bytes${hint}`)
  }
  return text as `0x${string}`
}
