// What the service uses of undici. Its index has fetch, WebSocket, caches and mocks, half of it unused.
// The build puts this file in its place, so whatever else the service imports from it belongs here.
const request = require('./node_modules/undici/lib/api/api-request.js')
const { parseURL } = require('./node_modules/undici/lib/core/util.js')
const { getGlobalDispatcher } = require('./node_modules/undici/lib/global.js')

module.exports = {
  request(url, options) {
    const { origin, pathname, search } = parseURL(url)
    return request.call(getGlobalDispatcher(), {
      ...options,
      ...{ origin, path: pathname + search, method: options?.method ?? 'GET' },
    })
  },
}
