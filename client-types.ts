import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from 'json-schema-to-typescript'
import { contracts } from './src/compute/analyses/registry.ts'
import { recordMember } from './src/compute/track-record-statistics/record-member.ts'
import { problemCodes } from './src/domain/problem.ts'

/**
 * The declarations of the client by name: `client.d.ts`, as `tsc` has emitted it, and what it imports. They need no
 * package.
 */
export async function clientTypes(emitted: string): Promise<ReadonlyMap<string, string>> {
  const written = new Map([['answers', await answerTypes()]])
  const types = new Map<string, string>()
  const wanted = ['client']
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    const text = written.get(name) ?? readFileSync(join(emitted, `${name}.d.ts`), 'utf8')
    const imports = Array.from(text.matchAll(/ from '([^']+)'/g), ([, specifier = '']) => specifier)
    for (const specifier of imports) {
      const [, imported] = /^\.\/([\w-]+)\.ts$/.exec(specifier) ?? []
      if (imported === undefined) throw new Error(`the client's ${name} imports ${specifier}`)
      if (!types.has(`${imported}.d.ts`)) wanted.push(imported)
    }
    // Node's resolutions want the name of the code.
    types.set(`${name}.d.ts`, text.replace(/( from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
  }
  return types
}

/** What `src/client/answers.ts` infers by TypeBox, written out: with the descriptions, and without TypeBox. */
async function answerTypes(): Promise<string> {
  const ids = contracts.map(({ id }) => id)
  const schema = {
    title: 'Answers',
    description: 'The answer of each analysis.',
    type: 'object',
    required: ids,
    properties: Object.fromEntries(contracts.map(({ id, document }) => [id, written(document)])),
  } as const
  const answers = await interfaceOf(schema, 'Answers')
  const record = await interfaceOf(described(recordMember), RECORD_NAME)
  const codes = problemCodes.map(({ code }) => `'${code}'`).join(' | ')
  return `${answers}\n${record}\nexport type ProblemCode = ${codes}\n`
}

function interfaceOf(schema: object, name: string): Promise<string> {
  return compile(structuredClone(schema), name, {
    additionalProperties: false,
    bannerComment: '',
    ignoreMinAndMaxItems: true,
    style: { semi: false, singleQuote: true, printWidth: 120 },
  })
}

const RECORD_NAME = 'TrackRecord'

/** What is part of several answers is written once: the components of the bundle, and the record of an estimate. */
function written(document: object): Record<string, unknown> {
  const names = new Map([
    [JSON.stringify(described(recordMember)), RECORD_NAME],
    ...contracts
      .filter((contract) => contract.document !== document)
      .map(
        ({ id, document: other }) =>
          [JSON.stringify(described(other)), `Answers['${id}']`] as const,
      ),
  ])
  const replaced = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const tsType = names.get(JSON.stringify(value))
    if (tsType !== undefined) return { tsType }
    if (Array.isArray(value)) return value.map(replaced)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]))
  }
  return replaced(described(document)) as Record<string, unknown>
}

/** A member that may be null is described by its schema for the other case. */
function described(document: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(document), (_key, value) => {
    const inner = value?.anyOf?.[0]?.description
    return inner === undefined || 'description' in value ? value : { ...value, description: inner }
  })
}
