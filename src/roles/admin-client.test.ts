import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { adminFixture } from '../api/testing/admin-fixture.ts'
import { adminTokenOf } from './admin-token.ts'
import { readinessAt } from './doctor/service.ts'
import { maintenanceCommand } from './maintenance.ts'

const TOKEN = 'f'.repeat(32)
const ADMIN = { adminHost: '0.0.0.0', adminPort: 0 }

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perpscope-admin-'))
})

afterAll(() => rm(folder, { recursive: true }))

async function tokenFile(text: string): Promise<string> {
  const path = join(folder, 'token')
  await writeFile(path, text)
  return path
}

describe('the admin token', () => {
  test('is the only word of its file', async () => {
    const adminTokenFile = await tokenFile(`${TOKEN}\n`)
    expect(adminTokenOf({ ...ADMIN, adminTokenFile })).toBe(TOKEN)
    expect(adminTokenOf(ADMIN)).toBeNull()
  })

  test.each(['', 'f'.repeat(31), `${TOKEN} ${TOKEN}`])('is not %j', async (text) => {
    const adminTokenFile = await tokenFile(text)
    expect(() => adminTokenOf({ ...ADMIN, adminTokenFile })).toThrow(/one token of 32 characters/)
  })

  test('of a missing file is reported', () => {
    const adminTokenFile = join(folder, 'absent')
    expect(() => adminTokenOf({ ...ADMIN, adminTokenFile })).toThrow(/cannot be read: ENOENT/)
  })
})

test('commands of this machine present the token to a service on every address', async () => {
  const { admin: server, maintenance } = adminFixture({ token: TOKEN })
  await server.listen({ host: ADMIN.adminHost, port: 0 })
  try {
    const { port: adminPort } = server.server.address() as AddressInfo
    const [known, unknown] = [
      { ...ADMIN, adminPort, adminTokenFile: await tokenFile(TOKEN) },
      { ...ADMIN, adminPort },
    ]
    expect(await readinessAt(known)).toMatchObject({ ready: true })
    await expect(maintenanceCommand('on', unknown)).rejects.toThrow(/404 .*admin token/)
    expect(maintenance.isOn).toBe(false)
    await maintenanceCommand('on', known)
    expect(maintenance.isOn).toBe(true)
  } finally {
    await server.close()
  }
})
