import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile } from 'json-schema-to-typescript'
import { contracts } from './src/compute/analyses/registry.ts'
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
    properties: Object.fromEntries(contracts.map(({ id, document }) => [id, described(document)])),
  } as const
  const answers = await compile(structuredClone(schema), 'Answers', {
    additionalProperties: false,
    bannerComment: '',
    ignoreMinAndMaxItems: true,
    style: { semi: false, singleQuote: true, printWidth: 120 },
  })
  const codes = problemCodes.map(({ code }) => `'${code}'`).join(' | ')
  return `${answers}\nexport type ProblemCode = ${codes}\n`
}

/** A member that may be null is described by its schema for the other case. */
function described(document: object): Record<string, unknown> {
  return JSON.parse(JSON.stringify(document), (_key, value) => {
    const inner = value?.anyOf?.[0]?.description
    return inner === undefined || 'description' in value ? value : { ...value, description: inner }
  })
}
