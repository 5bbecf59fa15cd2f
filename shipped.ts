import { join } from 'node:path'
import type { BuildOptions } from 'esbuild'

/** How code is bundled that users run; whoever measures it bundles it likewise. */
export const shipped = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22.13',
  // A third less to store and to hold in every thread; names stay, for stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  // Native code, files beside the package's own, or workers. Everything else is bundled: a package on both sides would
  // exist twice, and neither would know the errors of the other. The first four are the
  // dependencies of the package; litesvm is an optional one of its demo, the last three of --otlp-endpoint.
  external: [
    ...['better-sqlite3', 'piscina', 'pino', 'tiny-secp256k1', 'litesvm'],
    ...['sdk-trace', 'exporter-trace-otlp-http', 'resources'].map(
      (name) => `@opentelemetry/${name}`,
    ),
  ],
  // Each thread holds the source of what it loads, and what loading it has made.
  alias: {
    'rate-limiter-flexible': join(import.meta.dirname, 'rate-limiters.cjs'),
    '@fastify/ajv-compiler': join(import.meta.dirname, 'fastify-compilers.cjs'),
    '@fastify/fast-json-stringify-compiler': join(import.meta.dirname, 'fastify-compilers.cjs'),
    undici: join(import.meta.dirname, 'undici-request.cjs'),
    '@modelcontextprotocol/server/_shims': join(import.meta.dirname, 'mcp-shims.mjs'),
    // Modules of ECMAScript, of which the unused parts are left out; Node is offered CommonJS.
    rxjs: join(import.meta.dirname, 'node_modules/rxjs/dist/esm/index.js'),
    // The packages of MCP bring the same version twice.
    'zod/v4': join(
      import.meta.dirname,
      'node_modules/@modelcontextprotocol/core/node_modules/zod/v4/index.js',
    ),
  },
  // `ws` does without its native parts. Where they are installed they abort the process if the engine's thread ends while
  // it loads them.
  define: {
    'process.env.WS_NO_BUFFER_UTIL': '"1"',
    'process.env.WS_NO_UTF_8_VALIDATE': '"1"',
  },
  // The packages in CommonJS ask for Node's own modules by it.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url)",
  },
} satisfies BuildOptions
