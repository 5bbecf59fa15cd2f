import { brotliCompressSync, constants } from 'node:zlib'

/** Compresses a file that is compressed once and sent often. */
export function brotli(contents: Uint8Array): Buffer {
  return brotliCompressSync(contents, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: contents.length,
    },
  })
}
