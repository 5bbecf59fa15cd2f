#!/usr/bin/env node
// Not bundled, and in the syntax of Node 12: on an older Node nothing else is loaded than what says so.
// biome-ignore lint/correctness/useImportExtensions: it is JavaScript, which also runs before anything is built
import nodeVersion from './node-version.cjs'

if (nodeVersion.refusal === null) void import('./cli.ts')
