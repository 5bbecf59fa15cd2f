import { parse } from 'smol-toml'
import { describe, expect, test, vi } from 'vitest'
import { parseConfigFile } from './config-file.ts'
import { serveOptions } from './serve.ts'

vi.mock('smol-toml', { spy: true })

const parsed = (text: string) => parseConfigFile(text, 'x.toml', serveOptions)
const problemsOf = (text: string) => parsed(text).problems
const textsOf = (text: string, key: string) => parsed(text).values.get(key)?.texts

describe('a value has the text of the flag', () => {
  test.each([
    ['port = 9000', 'port', ['9000']],
    ['broadcast-payer-max = 0.25', 'broadcast-payer-max', ['0.25']],
    ['contract-gas-per-hour = 3_000_000', 'contract-gas-per-hour', ['3000000']],
    ['outside = false', 'outside', ['off']],
    ['access-log = true', 'access-log', ['on']],
    ['pay-to = "0x1"', 'pay-to', ['0x1']],
    ['trust-proxy = 1', 'trust-proxy', ['1']],
    ['trust-proxy = ["10.0.0.0/8", "loopback"]', 'trust-proxy', ['10.0.0.0/8,loopback']],
    ['dexes = ["xyz", "flx"]', 'dexes', ['xyz,flx']],
    ['dexes = "auto"', 'dexes', ['auto']],
    ['facilitator-url = ["http://a", "http://b"]', 'facilitator-url', ['http://a|http://b']],
    ['facilitator-key-file = "/run/key"', 'facilitator-key-file', ['/run/key']],
    [
      '[source-url]\nokx = []\nbase = ["http://a", "http://b"]\nkraken = "wss://c"',
      'source-url',
      ['okx=', 'base=http://a|http://b', 'kraken=wss://c'],
    ],
  ])('%s', (text, key, texts) => {
    expect(problemsOf(text)).toEqual([])
    expect(textsOf(text, key)).toEqual(texts)
  })
})

test.each([
  ['port = "9000"', 'port needs a number, not a string'],
  ['pay-to = 1', 'pay-to needs a string, not a number'],
  ['outside = "off"', 'outside needs true or false, not a string'],
  ['facilitator-url = [1]', 'facilitator-url needs a string or an array of strings, not an array'],
  ['host = 2026-01-31', 'host needs a string, not a date'],
  ['source-url = "okx="', 'source-url needs a table of strings or arrays of strings, not a string'],
  ['prot = 1', 'prot is not a setting; did you mean port?'],
  ['pay_to = "x"', 'pay_to is not a setting; did you mean pay-to?'],
  ['payTo = "x"', 'payTo is not a setting; did you mean pay-to?'],
  ['PERPSCOPE_PAY_TO = "x"', 'PERPSCOPE_PAY_TO is not a setting; did you mean pay-to?'],
  ['admin-host-file = "x"', 'admin-host-file is not a setting'],
  ['[payments]\npay-to = "x"', 'payments is not a setting; did you mean payment?'],
  ['[selling]\nport = 1', 'selling is not a setting; settings are not grouped in tables'],
  ['[[selling]]\nport = 1', 'selling is not a setting; settings are not grouped in tables'],
  ['selling.port = 1', 'selling is not a setting; settings are not grouped in tables'],
  ['[selling.prices]\npulse = 1', 'selling is not a setting; settings are not grouped in tables'],
  ['[port]\nx = 1', 'port needs a number, not a table'],
  ['[[port]]\nx = 1', 'port needs a number, not an array of tables'],
  ['port.x = 1', 'port needs a number, not a table'],
  [
    '[[source-url]]\nokx = []',
    'source-url needs a table of strings or arrays of strings, not an array of tables',
  ],
  [
    '[source-url.okx]\nx = 1',
    'okx in [source-url] needs a string or an array of strings, not a table',
  ],
  ['"por\\u0074" = "x"', 'port needs a number, not a string'],
  ['"wss://u:s3cr3t@h" = "okx"', 'a quoted key is not a setting'],
  ['config = "other.toml"', 'config is not a setting'],
  ['json = true', 'json is not a setting'],
])('%j is named with its line', (text, problem) => {
  const { problems, values } = parsed(`# first\n\n${text}`)
  expect(problems).toEqual([expect.stringContaining(`x.toml:3: ${problem}`)])
  expect(values.size).toBe(0)
})

test('a key in a table is named with its own line, also if it belongs above the table', () => {
  const text = 'port = 1\n[source-url]\nokx = 1\nport = 9000\npay-to = "0x1"\nbase = []\n'
  expect(problemsOf(text)).toEqual([
    'x.toml:3: okx in [source-url] needs a string or an array of strings, not a number',
    'x.toml:4: port is in the table [source-url]: move it above [source-url]',
    'x.toml:5: pay-to is in the table [source-url]: move it above [source-url]',
  ])
  expect(problemsOf('\nsource-url = { okx = 1 }')).toEqual([
    expect.stringContaining('x.toml:2: okx in [source-url] needs'),
  ])
  expect(problemsOf('source-url = { port = 1 }\nport = 9000')).toEqual([
    expect.stringContaining('x.toml:1: port is in the table'),
  ])
})

test.each([
  [6, 'below a value of several lines', 'facilitator-url = [\n "a",\n 1\n]\n\nport = "x"'],
  [6, 'below a text of several lines', 'host = """\nport = "x"\n"""\n# port = "x"\n\nport = "x"'],
  [5, 'below a text with another quote', `host = '''\n""\nport = 1\n'''\nport = 'x'`],
  [2, 'with Windows line ends', '\r\nport = "x"\r\n'],
  [3, 'in a table with a comment', '[ source-url ] # port\n# port\nport = "x"\n'],
  [3, 'with the name of its table', 'source-url.okx = []\n\nsource-url.port = "1"\n'],
  [4, 'in a table of several lines', 'source-url = {\n okx = [\n ],\n port = "1",\n}\n'],
  [3, 'at the end of a table of several lines', 'source-url = {\n okx = "a",\n port = "1" }\n'],
  [4, 'after a comma of its own', 'source-url = { # {\n okx = "a, {"\n\n , port = "1" # }\n}\n'],
  [
    5,
    'below a table with a text of several lines',
    'source-url = { okx = """\n}\n""""\n}\nport = "x"',
  ],
  [4, 'as a table in a table', '[source-url]\nokx = []\n\n[source-url.port]\nx = 1\n'],
])('line %i is that of a key %s', (line, _where, text) => {
  expect(problemsOf(text).at(-1)).toMatch(new RegExp(`^x\\.toml:${line}: port `))
})

test('the lines of long statements take work in proportion to their length', () => {
  const items = Array.from({ length: 2_000 }, () => ' "a",\n').join('')
  const members = Array.from({ length: 2_000 }, (_, at) => ` okx.a${at} = 1,\n`).join('')
  const text = `facilitator-url = [\n${items}]\nsource-url = {\n${members} port = 1\n}\n`
  vi.mocked(parse).mockClear()
  expect(problemsOf(text).at(-1)).toMatch(/^x\.toml:4004: port is in the table/)
  const parsedChars = vi.mocked(parse).mock.calls.reduce((sum, [part]) => sum + part.length, 0)
  expect(parsedChars).toBeLessThan(4 * text.length)
})

test('a quoted key in a table is not repeated: it can be a URL with a password', () => {
  expect(problemsOf('[source-url]\n"wss://u:s3cr3t@h" = "okx"')).toEqual([
    expect.stringMatching(/^x\.toml:2: a quoted key in \[source-url\] is unknown; [^@]*$/),
  ])
})

test('a name that is no member of a table is named with what was meant', () => {
  const text = '[source-url]\nokx = []\nprot = 9000\nkrakn = "wss://a"\nnothing-like-it = "x"\n'
  expect(problemsOf(text)).toEqual([
    'x.toml:3: prot in [source-url] is unknown; did you mean port? Move it above [source-url]',
    'x.toml:4: krakn in [source-url] is unknown; did you mean kraken?',
    expect.stringMatching(
      /^x\.toml:5: nothing-like-it in \[source-url\] is unknown; choose from .*okx/,
    ),
  ])
  expect(problemsOf('[source-url]\npay_to = "0x1"\n')).toEqual([
    'x.toml:2: pay_to in [source-url] is unknown; did you mean pay-to? Move it above [source-url]',
  ])
})

test.each([
  ['port = 1\nport = 2\n', 2, 'port: '],
  ['[source-url]\nokx = "a"\nokx = "b"\n', 3, 'okx: '],
  ['[source-url]\n\n[source-url]\n', 3, 'source-url: '],
  ['pay-to = \n', 1, 'pay-to: '],
  ['dGVzdA== = 1\n', 1, ''],
  ['host = """\nport = \\q\n"""\n', 2, ''],
])('%j is no TOML, with the line and, if it is a setting, the key', (text, line, key) => {
  const [problem, ...more] = problemsOf(text)
  expect(more).toEqual([])
  expect(problem).toMatch(new RegExp(`^x\\.toml:${line}: ${key}Invalid TOML document: `))
})

test('names all problems at once, in the order of the file', () => {
  const problems = problemsOf('prot = 1\nhost = 5\nport = 80\nnothing-like-it = 1\n')
  expect(problems.map((problem) => problem.split(' ').slice(0, 2).join(' '))).toEqual([
    ...['x.toml:1: prot', 'x.toml:2: host', 'x.toml:4: nothing-like-it'],
  ])
})

test('a syntax error has its line, and quotes nothing', () => {
  const [problem, ...more] = problemsOf('port = 1\nfacilitator-key = 0xhidden-key\n')
  expect(more).toEqual([])
  expect(problem).toMatch(/^x\.toml:2: \S/)
  expect(problem).not.toContain('hidden')
})
