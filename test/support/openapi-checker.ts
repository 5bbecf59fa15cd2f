import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { LightMyRequestResponse } from 'fastify'
import { problemCodes } from '../../src/domain/problem.ts'
import type { Json } from './answers.ts'

/** Headers of any HTTP server, or described in prose for all paths. */
const UNDECLARED = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'link',
  'transfer-encoding',
  'vary',
  'x-content-type-options',
])

/** Validates responses against an OpenAPI 3.1 document: status, media type, body and headers. */
export class OpenApiChecker {
  readonly #document: Json
  readonly #ajv = new Ajv2020.default({ strict: false, allErrors: false })
  readonly #patterns: readonly (readonly [RegExp, string])[]
  /** Compiled once each. */
  readonly #byPointer = new Map<string, ReturnType<Ajv2020.default['compile']>>()

  constructor(document: Json) {
    this.#document = document
    addFormats.default(this.#ajv)
    this.#ajv.addSchema(document, 'openapi')
    this.#patterns = Object.keys(document.paths)
      .sort((a, b) => a.split('{').length - b.split('{').length)
      .map((path) => [
        new RegExp(`^${path.replaceAll('.', '\\.').replace(/{\w+}/g, '[^/]+')}/?$`),
        path,
      ])
  }

  /** The path template that matches a path. */
  templateOf(path: string): string | undefined {
    return this.#patterns.find(([pattern]) => pattern.test(path))?.[1]
  }

  /** Violations of the document; empty for a valid response. @param query with its question mark */
  violations(
    method: string,
    path: string,
    response: LightMyRequestResponse,
    query = '',
  ): readonly string[] {
    const template = this.templateOf(path)
    const { statusCode: status } = response
    if (isUndecodable(path)) return this.#problem(400, response, method)
    if (template === undefined) {
      return method === 'HEAD' && status === 404 ? [] : this.#problem(404, response, method)
    }
    if (method === 'OPTIONS') return status === 204 ? [] : [`OPTIONS answered ${status}`]
    const operation =
      this.#document.paths[template][method === 'HEAD' ? 'get' : method.toLowerCase()]
    if (operation === undefined) return this.#problem(405, response, method)
    const listed = operation.responses[status]
    const declared = this.#resolved(listed ?? operation.responses.default)
    if (declared === undefined || (listed === undefined && status < 400))
      return [`status ${status} is not declared`]
    const isAnswer = operation.tags.includes('paid') || template === '/sample/{analysis}'
    const asked = { method, isSelected: isAnswer && status === 200 && selects(query) }
    return [
      ...this.#headerViolations(declared, response),
      ...this.#bodyViolations(declared, response, asked),
    ]
  }

  /** @param pointer such as `/components/schemas/Coins` */
  schemaViolations(pointer: string, value: unknown): readonly string[] {
    const validate =
      this.#byPointer.get(pointer) ?? this.#ajv.compile({ $ref: `openapi#${encodeURI(pointer)}` })
    this.#byPointer.set(pointer, validate)
    if (validate(value)) return []
    return [this.#ajv.errorsText(validate.errors)]
  }

  #problem(expected: number, response: LightMyRequestResponse, method: string): readonly string[] {
    const declared = this.#document.components.responses.Problem
    if (response.statusCode !== expected) return [`${response.statusCode} instead of ${expected}`]
    return [
      ...this.#headerViolations(declared, response),
      ...this.#bodyViolations(declared, response, { method, isSelected: false }),
    ]
  }

  #bodyViolations(
    declared: Json,
    response: LightMyRequestResponse,
    { method, isSelected }: { readonly method: string; readonly isSelected: boolean },
  ): readonly string[] {
    if (method === 'HEAD') return response.body === '' ? [] : ['HEAD has a body']
    if (declared.content === undefined) return response.body === '' ? [] : ['a body came']
    const type = String(response.headers['content-type']).split(';')[0] ?? ''
    const media = declared.content[type]
    if (media === undefined) return [`media type ${type} is not declared`]
    const value: Json = type.endsWith('json') ? response.json() : response.body
    const { statusCode } = response
    if (type === 'application/problem+json' && statusOf(value.code) !== statusCode)
      return [`${value.code} is not ${statusCode}`]
    const validate = this.#compiled(isSelected ? this.#selectable(media.schema) : media.schema)
    return validate(value) ? [] : [this.#ajv.errorsText(validate.errors)]
  }

  #headerViolations(declared: Json, response: LightMyRequestResponse): readonly string[] {
    const known = new Map<string, Json>(
      Object.entries<Json>(declared.headers ?? {}).map(([name, header]) => [
        name.toLowerCase(),
        this.#resolved(header),
      ]),
    )
    const undeclared = Object.keys(response.headers).filter(
      (name) => !known.has(name) && !UNDECLARED.has(name),
    )
    const missing = [...known].filter(
      ([name, { required }]) => required === true && response.headers[name] === undefined,
    )
    return [
      ...undeclared.map((name) => `header ${name} is not declared`),
      ...missing.map(([name]) => `header ${name} is missing`),
    ]
  }

  /** The schema with every member optional and no other allowed, for answers with `fields`. */
  #selectable(schema: Json): Json {
    const held = this.#selections.get(schema)
    if (held !== undefined) return held
    const made = withoutRequired(this.#inlined(schema))
    this.#selections.set(schema, made)
    return made
  }

  readonly #selections = new Map<unknown, Json>()

  #inlined(schema: Json): Json {
    if (typeof schema !== 'object' || schema === null) return schema
    if (schema.$ref !== undefined) return this.#inlined(this.#resolved(schema))
    if (Array.isArray(schema)) return schema.map((inner) => this.#inlined(inner))
    return Object.fromEntries(
      Object.entries(schema).map(([key, inner]) => [key, this.#inlined(inner)]),
    )
  }

  readonly #validators = new Map<unknown, ReturnType<Ajv2020.default['compile']>>()

  #compiled(schema: Json) {
    const held = this.#validators.get(schema)
    if (held !== undefined) return held
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'))
    const validate = this.#ajv.compile(absolute)
    this.#validators.set(schema, validate)
    return validate
  }

  #resolved(object: Json): Json {
    if (object?.$ref === undefined) return object
    const names = String(object.$ref).slice(2).split('/')
    return names.reduce((at: Json, name) => at[name], this.#document)
  }
}

/** Whether the query selects a part of the answer. */
function selects(query: string): boolean {
  const parameters = new URLSearchParams(query)
  return parameters.has('fields') || parameters.get('view')?.toLowerCase() === 'compact'
}

const ALWAYS = ['timestamp_iso', 'meta']

function withoutRequired(schema: Json, isWhole = true): Json {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map((inner) => withoutRequired(inner, false))
  if (isWhole && schema.anyOf !== undefined)
    return { anyOf: schema.anyOf.map((answer: Json) => withoutRequired(answer)) }
  const { required: _, ...rest } = schema
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      key === 'properties' ? optionalMembers(value) : withoutRequired(value, false),
    ]),
  )
  if (isWhole) return { ...inner, required: ALWAYS, additionalProperties: false }
  const isObject = schema.properties !== undefined || schema.allOf !== undefined
  return isObject && schema.additionalProperties === undefined
    ? { ...inner, ...(schema.allOf !== undefined && { unevaluatedProperties: false }) }
    : inner
}

function optionalMembers(properties: Json): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [name, withoutRequired(member, false)]),
  )
}

function statusOf(code: unknown): number | undefined {
  return problemCodes.find((row) => row.code === code)?.status
}

function isUndecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return false
  } catch {
    return true
  }
}
