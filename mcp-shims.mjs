// In the place of `@modelcontextprotocol/server/_shims`, which brings the validator of schemas that only its client-side
// questions and its own tools need; the service has neither.
export { default as process } from 'node:process'
export class DefaultJsonSchemaValidator {}
