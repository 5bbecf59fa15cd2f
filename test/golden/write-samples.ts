/**
 * Writes the samples that the service publishes:
 * `node_modules/.bin/tsx test/golden/write-samples.ts && npx biome format --write src/api/discovery/samples.json`.
 * To be run again whenever a schema has changed; `test/discovery.test.ts` says so.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sampleAnswers } from '../support/sample-answers.ts'

const SAMPLES = resolve(import.meta.dirname, '../../src/api/discovery/samples.json')

writeFileSync(SAMPLES, JSON.stringify(Object.fromEntries(sampleAnswers()), null, 2))
