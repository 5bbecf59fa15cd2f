/**
 * Writes what follows from the definitions of the options, the reference page and the example of a configuration file:
 * `node_modules/.bin/tsx test/golden/write-configuration.ts`.
 */
import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { configurationDocuments } from './configuration-documents.ts'

for (const [path, text] of Object.entries(configurationDocuments))
  writeFileSync(resolve(import.meta.dirname, '../..', path), text)
