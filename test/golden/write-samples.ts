/**
 * Writes the sample answers that the service publishes:
 * `node_modules/.bin/tsx test/golden/write-samples.ts && npx biome format --write src/api/discovery/samples.json`.
 * Run it after every change of a schema; `test/samples.deep.test.ts` fails until then.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { sampleAnswers } from '../support/sample-answers.ts'

const SAMPLES = resolve(import.meta.dirname, '../../src/api/discovery/samples.json')

writeFileSync(SAMPLES, JSON.stringify(Object.fromEntries(sampleAnswers()), null, 2))
