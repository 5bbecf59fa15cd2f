const UINT32 = 2 ** 32

/**
 * Chance as a function: every draw is a hash of a key and an index, so that any instant of a market
 * can be computed first, last or twice and is always the same.
 */
export function noiseKey(seed: number, ...names: readonly string[]): number {
  let hash = mix(seed | 0)
  for (const name of names) {
    for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
    hash = mix(hash)
  }
  return hash
}

/** 32 random bits. Indices are distinct up to 2^32. */
export function bits(key: number, index: number): number {
  return mix(key ^ Math.imul(index | 0, 0x9e3779b1)) >>> 0
}

/** Uniform in [0, 1). */
export function uniform(key: number, index: number): number {
  return bits(key, index) / UINT32
}

/** Standard normal, by Box and Muller. */
export function gaussian(key: number, index: number): number {
  const radius = Math.sqrt(-2 * Math.log((bits(key, index) + 1) / (UINT32 + 1)))
  return radius * Math.cos(2 * Math.PI * uniform(key ^ 0x5bd1e995, index))
}

/** Smooth in `x`, within [-1, 1], one independent draw a unit. */
export function drift(key: number, x: number): number {
  const left = Math.floor(x)
  const share = x - left
  const weight = share * share * (3 - 2 * share)
  const from = uniform(key, left)
  return 2 * (from + (uniform(key, left + 1) - from) * weight) - 1
}

/** Finalizer of MurmurHash3. */
function mix(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
