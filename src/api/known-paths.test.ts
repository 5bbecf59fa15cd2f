import { expect, test } from 'vitest'
import { KnownPaths } from './known-paths.ts'

const paths = new KnownPaths()
paths.add('/', 'GET')
paths.add('/pulse/:coin', 'GET')
paths.add('/pulse/:coin', 'HEAD')
paths.add('/mcp', ['GET', 'POST'])
paths.add('/files/*', 'GET')
paths.add('/openapi.json', 'GET')

test.each([
  ['/', 'GET,OPTIONS'],
  ['/pulse/BTC', 'GET,HEAD,OPTIONS'],
  ['/pulse/BTC/', 'GET,HEAD,OPTIONS'],
  ['/mcp', 'GET,OPTIONS,POST'],
  ['/files/a/b.css', 'GET,OPTIONS'],
  ['/pulse', ''],
  ['/pulse/', ''],
  ['/pulse/BTC//', ''],
  ['/pulse/BTC/x', ''],
  ['/PULSE/BTC', ''],
  ['/openapiXjson', ''],
])('%s takes %s', (path, methods) => {
  expect(paths.methodsOf(path).join(',')).toBe(methods)
})
