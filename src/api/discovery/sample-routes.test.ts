import Fastify from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { contracts } from '../../compute/analyses/registry.ts'
import { BoundedMap } from '../../domain/bounded-map.ts'
import { sampleRoutes } from './sample-routes.ts'

test('the selected part of a sample is made and compressed once', async () => {
  const app = Fastify()
  onTestFinished(() => app.close())
  sampleRoutes(app, contracts)
  const made = vi.spyOn(BoundedMap.prototype, 'set')
  const get = async (url: string) => {
    const { headers, rawPayload } = await app.inject({ url, headers: { 'accept-encoding': 'br' } })
    return [headers['content-encoding'], rawPayload]
  }
  const one = await get('/sample/pulse?view=compact')
  expect(one[0]).toBe('br')
  expect(await get('/sample/pulse?view=Compact')).toEqual(one)
  expect(made).toHaveBeenCalledTimes(1)
  expect(await get('/sample/pulse?fields=timeframes')).not.toEqual(one)
})
