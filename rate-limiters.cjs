// What the service uses of rate-limiter-flexible. Its index has the stores for every database, 100 kB of them unused.
// The build puts this file in its place, so whatever else the service imports from it belongs here.
module.exports = {
  RateLimiterMemory: require('./node_modules/rate-limiter-flexible/lib/RateLimiterMemory.js'),
  RateLimiterRedis: require('./node_modules/rate-limiter-flexible/lib/RateLimiterRedis.js'),
  RateLimiterRes: require('./node_modules/rate-limiter-flexible/lib/RateLimiterRes.js'),
}
