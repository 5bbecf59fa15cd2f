import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { LightMyRequestResponse } from 'fastify'
import type { Json } from './answers.ts'

/** Of any HTTP server, or told in words for all paths alike. */
const UNDECLARED = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-content-type-options',
])

/** Holds answers against an OpenAPI 3.1 document: status, media type, body and headers. */
export class OpenApiChecker {
  readonly #document: Json
  readonly #ajv = new Ajv2020.default({ strict: false, allErrors: false })
  readonly #patterns: readonly (readonly [RegExp, string])[]

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

  /** The template that a path belongs to. */
  templateOf(path: string): string | undefined {
    return this.#patterns.find(([pattern]) => pattern.test(path))?.[1]
  }

  /** What is wrong with an answer; nothing for one that was promised. */
  violations(method: string, path: string, response: LightMyRequestResponse): readonly string[] {
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
    const declared = this.#resolved(operation.responses[status])
    if (declared === undefined) return [`status ${status} is not declared`]
    return [
      ...this.#headerViolations(declared, response),
      ...this.#bodyViolations(declared, response, method),
    ]
  }

  /** @param pointer such as `/components/schemas/Coins` */
  schemaViolations(pointer: string, value: unknown): readonly string[] {
    const validate = this.#ajv.compile({ $ref: `openapi#${encodeURI(pointer)}` })
    if (validate(value)) return []
    return [this.#ajv.errorsText(validate.errors)]
  }

  #problem(expected: number, response: LightMyRequestResponse, method: string): readonly string[] {
    const declared = this.#document.components.responses[`Problem${expected}`]
    if (response.statusCode !== expected) return [`${response.statusCode} instead of ${expected}`]
    return [
      ...this.#headerViolations(declared, response),
      ...this.#bodyViolations(declared, response, method),
    ]
  }

  #bodyViolations(
    declared: Json,
    response: LightMyRequestResponse,
    method: string,
  ): readonly string[] {
    if (method === 'HEAD') return response.body === '' ? [] : ['HEAD has a body']
    if (declared.content === undefined) return response.body === '' ? [] : ['a body came']
    const type = String(response.headers['content-type']).split(';')[0] ?? ''
    const media = declared.content[type]
    if (media === undefined) return [`media type ${type} is not declared`]
    const validate = this.#compiled(media.schema)
    const value: unknown = type.endsWith('json') ? response.json() : response.body
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

function isUndecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return false
  } catch {
    return true
  }
}
