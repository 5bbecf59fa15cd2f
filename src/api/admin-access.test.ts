import { describe, expect, test } from 'vitest'
import { SESSION_COOKIE } from './admin-access.ts'
import { adminFixture } from './testing/admin-fixture.ts'

const TOKEN = 'a'.repeat(32)
const WRONG = 'b'.repeat(32)
const host = '10.0.0.7:9402'
const origin = `http://${host}`
const authorization = `Bearer ${TOKEN}`
const GUARDED = [
  ...['/metrics', '/store', '/sources', '/maintenance', '/unknown'],
  ...['/desk/health', '/desk/money', '/desk/control'],
]

type Admin = ReturnType<typeof adminFixture>['admin']

describe('access on loopback without a token', () => {
  test.each(['localhost:9402', '127.0.0.1:9402', '127.0.0.1', '[::1]:9402', '127.8.9.1:1'])(
    'is open to %s',
    async (ownHost) => {
      const { admin } = adminFixture()
      const headers = { host: ownHost }
      expect((await admin.inject({ url: '/livez', headers })).statusCode).toBe(200)
      expect((await admin.inject({ url: '/session', headers })).json()).toEqual({
        required: false,
        granted: true,
      })
    },
  )

  test.each([
    { host: 'evil.example:9402' },
    { host: 'localhost.evil.example' },
    { host: '127.0.0.1.evil.example' },
    { host: '10.0.0.1:9402' },
    { host: '127.999.1.1' },
    { host: '127.0.0.1.1' },
    { host: '127.0.0.1:9402', origin: 'https://evil.example' },
    { host: '127.0.0.1:9402', origin: 'null' },
  ])('is closed to %j', async (headers) => {
    const { admin, maintenance } = adminFixture()
    expect((await switchMaintenance(admin, headers)).statusCode).toBe(404)
    expect(maintenance.isOn).toBe(false)
    for (const url of ['/session', ...GUARDED])
      expect((await admin.inject({ url, headers })).statusCode, url).toBe(404)
  })

  test('is open to a page of its own origin', async () => {
    const { admin } = adminFixture()
    const headers = { host: 'localhost:9402', origin: 'http://localhost:9402' }
    expect((await admin.inject({ url: '/desk/health', headers })).statusCode).toBe(200)
  })
})

describe('access by token', () => {
  test('is open to every address that presents it', async () => {
    const { admin, maintenance } = adminFixture({ token: TOKEN })
    const response = await switchMaintenance(admin, { host, authorization })
    expect(response.statusCode).toBe(200)
    expect(maintenance.isOn).toBe(true)
  })

  test.each([
    ['no token', { host }, 'admin token'],
    ['no token on loopback', { host: '127.0.0.1:9402' }, 'admin token'],
    ['another token', { host, authorization: `Bearer ${WRONG}` }, 'admin token'],
    ['a prefix of the token', { host, authorization: `Bearer ${'a'.repeat(31)}` }, 'admin token'],
    ['another scheme', { host, authorization: `Basic ${TOKEN}` }, 'admin token'],
    ['a page of another site', { host, authorization, origin: 'https://evil.example' }, 'Origin'],
    ['an invented session', { host, cookie: `${SESSION_COOKIE}=secret-1`, origin }, 'admin token'],
  ])('is closed to %s', async (_case, headers, reason) => {
    const { admin, maintenance } = adminFixture({ token: TOKEN })
    for (const url of GUARDED) {
      const response = await admin.inject({ url, headers })
      expect(response.statusCode, url).toBe(404)
      expect(response.json().detail, url).toContain(reason)
    }
    await switchMaintenance(admin, headers)
    expect(maintenance.isOn).toBe(false)
  })

  test('probes get their verdict without it, and no reasons', async () => {
    const { admin, engine } = adminFixture({ token: TOKEN })
    expect((await admin.inject({ url: '/livez', headers: { host } })).statusCode).toBe(200)
    engine.disconnected()
    const response = await admin.inject({ url: '/readyz?verbose', headers: { host } })
    expect(response.statusCode).toBe(503)
    expect(response.json()).toEqual({ ready: false })
  })

  test('is limited by address after ten wrong tokens, for a minute', async () => {
    const { admin, clock } = adminFixture({ token: TOKEN })
    const ask = (headers: Record<string, string>, remoteAddress: string) =>
      admin.inject({ url: '/store', headers, remoteAddress })
    const wrong = { host, authorization: `Bearer ${WRONG}` }
    for (let count = 0; count < 10; count += 1)
      expect((await ask(wrong, '10.0.0.1')).statusCode).toBe(404)
    const blocked = await ask({ host, authorization }, '10.0.0.1')
    expect(blocked.statusCode).toBe(429)
    expect(blocked.headers['retry-after']).toBe('60')
    expect((await signIn(admin, TOKEN, { host, origin }, '10.0.0.1')).statusCode).toBe(429)
    expect((await ask({ host, authorization }, '10.0.0.2')).statusCode).toBe(200)
    // An IPv6 network has more addresses than a token has guesses.
    for (let count = 0; count < 10; count += 1) await ask(wrong, `2001:db8::${count + 1}`)
    expect((await ask({ host, authorization }, '2001:db8::ff')).statusCode).toBe(429)
    expect((await ask({ host, authorization }, '2001:db8:0:1::1')).statusCode).toBe(200)
    clock.advance(60_000)
    expect((await ask({ host, authorization }, '10.0.0.1')).statusCode).toBe(200)
  })

  test('is limited by the peer address if a number of proxies is trusted, which is about the public port', async () => {
    const { admin } = adminFixture({ token: TOKEN, trustProxy: 1 })
    const ask = (headers: Record<string, string>, remoteAddress: string) =>
      admin.inject({ url: '/store', headers: { host, ...headers }, remoteAddress })
    const forged = { authorization: `Bearer ${WRONG}`, 'x-forwarded-for': '10.0.0.2' }
    for (let count = 0; count < 10; count += 1) await ask(forged, '10.0.0.1')
    expect((await ask({ authorization }, '10.0.0.2')).statusCode).toBe(200)
    expect((await ask({ authorization }, '10.0.0.1')).statusCode).toBe(429)
  })

  test('a clock that is set back extends neither the minute nor a session', async () => {
    const { admin, clock } = adminFixture({ token: TOKEN })
    const ask = async (headers: Record<string, string>) =>
      (await admin.inject({ url: '/store', headers })).statusCode
    await signIn(admin, TOKEN)
    for (let count = 0; count < 10; count += 1)
      await ask({ host, authorization: `Bearer ${WRONG}` })
    expect(await ask({ host, authorization })).toBe(429)
    clock.putBack(3_600_000)
    expect(await ask({ host, authorization })).toBe(200)
    expect(await ask({ host, cookie: `${SESSION_COOKIE}=secret-1` })).toBe(404)
  })
})

describe('a session of a browser', () => {
  test('is asked for, begins with the token, and opens reports and orders', async () => {
    const { admin, maintenance } = adminFixture({ token: TOKEN })
    const asked = await admin.inject({ url: '/session', headers: { host } })
    expect(asked.json()).toEqual({ required: true, granted: false })
    const response = await signIn(admin, TOKEN)
    expect(response.statusCode).toBe(200)
    const setCookie = String(response.headers['set-cookie'])
    expect(setCookie).toBe(
      `${SESSION_COOKIE}=secret-1; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict`,
    )
    expect(setCookie).not.toContain(TOKEN)
    const headers = { host, cookie: `theme=dark; ${SESSION_COOKIE}=secret-1` }
    expect((await admin.inject({ url: '/session', headers })).json().granted).toBe(true)
    expect((await admin.inject({ url: '/desk/health', headers })).statusCode).toBe(200)
    expect((await switchMaintenance(admin, { ...headers, origin })).statusCode).toBe(200)
    expect(maintenance.isOn).toBe(true)
  })

  test('does not begin with a wrong token', async () => {
    const { admin } = adminFixture({ token: TOKEN })
    const response = await signIn(admin, WRONG)
    expect(response.statusCode).toBe(404)
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  test.each([{ token: 7 }, {}, { token: TOKEN, more: 1 }, []])(
    'does not begin with the body %j',
    async (payload) => {
      const { admin } = adminFixture({ token: TOKEN })
      const response = await admin.inject({
        ...{ method: 'POST', url: '/session', payload: JSON.stringify(payload) },
        headers: { host, origin, 'content-type': 'application/json' },
      })
      expect(response.statusCode).toBe(400)
      expect(response.headers['set-cookie']).toBeUndefined()
    },
  )

  test('does not begin from the page of another site', async () => {
    const { admin } = adminFixture({ token: TOKEN })
    const response = await signIn(admin, TOKEN, { host, origin: 'https://evil.example' })
    expect(response.statusCode).toBe(404)
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  test('does not begin behind TLS of a proxy that is not trusted, and the reason names the option', async () => {
    const { admin } = adminFixture({ token: TOKEN })
    const response = await signIn(admin, TOKEN, { host, origin: `https://${host}` })
    expect(response.statusCode).toBe(404)
    expect(response.json().detail).toContain('--trust-proxy')
  })

  test.each([
    ['a page of another site', { host, origin: 'https://evil.example' }],
    ['a sandboxed page', { host, origin: 'null' }],
    ['another name of this port', { host: 'evil.example:9402' }],
    ['that name with its own origin', { host: 'evil.example', origin: 'http://evil.example' }],
  ])('is worth nothing from %s', async (_case, from) => {
    const { admin, maintenance } = adminFixture({ token: TOKEN })
    await signIn(admin, TOKEN)
    const headers = { ...from, cookie: `${SESSION_COOKIE}=secret-1` }
    for (const url of GUARDED)
      expect((await admin.inject({ url, headers })).statusCode, url).toBe(404)
    await switchMaintenance(admin, headers)
    expect(maintenance.isOn).toBe(false)
  })

  test('changes nothing without an origin', async () => {
    const { admin, maintenance } = adminFixture({ token: TOKEN })
    await signIn(admin, TOKEN)
    const headers = { host, cookie: `${SESSION_COOKIE}=secret-1` }
    expect((await switchMaintenance(admin, headers)).statusCode).toBe(404)
    expect(maintenance.isOn).toBe(false)
  })

  test('ends on request, after 12 hours, and with the process', async () => {
    const { admin, clock } = adminFixture({ token: TOKEN })
    const stateOf = async (name: string, of = admin) => {
      const headers = { host, cookie: `${SESSION_COOKIE}=${name}` }
      return (await of.inject({ url: '/desk/health', headers })).statusCode
    }
    await signIn(admin, TOKEN)
    await signIn(admin, TOKEN)
    expect(await stateOf('secret-1')).toBe(200)
    const ended = await admin.inject({
      ...{ method: 'POST', url: '/session/end' },
      headers: { host, origin, cookie: `${SESSION_COOKIE}=secret-1` },
    })
    expect(ended.json()).toEqual({ required: true, granted: false })
    expect(ended.headers['set-cookie']).toContain(`${SESSION_COOKIE}=; Path=/; Max-Age=0`)
    expect([await stateOf('secret-1'), await stateOf('secret-2')]).toEqual([404, 200])
    clock.advance(12 * 3_600_000 - 1)
    expect(await stateOf('secret-2')).toBe(200)
    clock.advance(1)
    expect(await stateOf('secret-2')).toBe(404)
    await signIn(admin, TOKEN)
    expect(await stateOf('secret-3')).toBe(200)
    expect(await stateOf('secret-3', adminFixture({ token: TOKEN }).admin)).toBe(404)
  })

  test('is Secure behind TLS of a trusted proxy alone', async () => {
    const secure = async (trustProxy: string[] | undefined, proto: string) => {
      const { admin } = adminFixture({ token: TOKEN, ...(trustProxy && { trustProxy }) })
      const own = `${trustProxy ? proto : 'http'}://${host}`
      const headers = { host, origin: own, 'x-forwarded-proto': proto }
      return String((await signIn(admin, TOKEN, headers, '127.0.0.1')).headers['set-cookie'])
    }
    expect(await secure(['127.0.0.1'], 'https')).toMatch(/; Secure$/)
    expect(await secure(['127.0.0.1'], 'http')).not.toContain('Secure')
    expect(await secure(undefined, 'https')).not.toContain('Secure')
    expect(await secure(['10.9.9.9'], 'http')).not.toContain('Secure')
  })
})

function signIn(
  admin: Admin,
  token: string,
  headers: Record<string, string> = { host, origin },
  remoteAddress = '10.0.0.9',
) {
  return admin.inject({
    method: 'POST',
    url: '/session',
    headers,
    remoteAddress,
    payload: { token },
  })
}

function switchMaintenance(admin: Admin, headers: Record<string, string>) {
  return admin.inject({ method: 'POST', url: '/maintenance', headers, payload: { on: true } })
}
