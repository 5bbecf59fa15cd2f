import { expect, test } from 'vitest'
import {
  baseUrl,
  host,
  socketUrl,
  sourceUrl,
  url,
  urlList,
  usdcNumber,
  venueSource,
} from './values.ts'

test('an amount of a budget is 0.000001 to 1e9 USDC', () => {
  expect(['0.000001', '0.05', '1000000000'].map(usdcNumber)).toEqual([0.000_001, 0.05, 1e9])
  for (const text of ['0', '-1', '0.0000001', '1000000001', '1e30', 'Infinity', 'much'])
    expect(() => usdcNumber(text), text).toThrow()
})

test.each([
  [url, 'https://a/ \r'],
  [url, ' HTTPS://a//'],
  [baseUrl, 'https://a/\n'],
  [venueSource, 'Https://a/'],
  [socketUrl, 'WSS://a \r'],
])('the space around a URL, and slashes at its end, are not part of it', (parse, text) => {
  expect(parse(text)).toMatch(/^(https|wss):\/\/a$/)
})

test('the URLs of lists are read as single ones', () => {
  expect(urlList('HTTPS://a/ | https://b\r')).toEqual(['https://a', 'https://b'])
  expect(sourceUrl('okx=WSS://a | https://b\r', {})).toEqual({ okx: ['wss://a', 'https://b'] })
  expect(sourceUrl('okx= ', {})).toEqual({ okx: [] })
})

test('a URL to which paths are appended has no query; that of a node may have one', () => {
  for (const parse of [baseUrl, venueSource, urlList])
    expect(() => parse('https://a/?key=b'), parse.name).toThrow(/without a query/)
  expect(url('https://a/?key=b/')).toBe('https://a/?key=b/')
})

test.each(['localhost:8500', 'ws://127.0.0.1:8500', 'Live', ''])(
  'no source of market data: %j',
  (text) => {
    expect(() => venueSource(text)).toThrow(/not an http URL/)
  },
)

test('an address to listen on has no brackets', () => {
  expect([' ::1 ', '[::1]', '0.0.0.0\r', 'localhost'].map(host)).toEqual([
    ...['::1', '::1', '0.0.0.0', 'localhost'],
  ])
  for (const text of ['', ' ', '[]', 'a b', 'http://a']) expect(() => host(text), text).toThrow()
})

test('a URL to which paths are appended has no fragment', () => {
  expect(url('https://api.example.com/base/')).toBe('https://api.example.com/base')
  expect(() => url('https://api.example.com/#top')).toThrow(/without a fragment/)
})
