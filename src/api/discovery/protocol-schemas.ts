import { listOf, nullableSchema, textSchema } from './described-schema.ts'
import type { JsonSchema } from './published-schema.ts'

export const jsonRpcRequestSchema: JsonSchema = {
  type: 'object',
  description: 'JSON-RPC 2.0 request, or notification without id.',
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer'], description: 'Repeated in the response.' },
    method: textSchema('For example tools/call (MCP) or SendMessage (A2A).'),
    params: { type: 'object', description: 'Parameters of the method.' },
  },
  required: ['jsonrpc', 'method'],
}

export const jsonRpcResponseSchema: JsonSchema = {
  type: 'object',
  description: 'JSON-RPC 2.0 result or error.',
  properties: {
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'number', 'null'], description: 'Id of the request.' },
    result: { type: 'object', description: 'Result of the method.' },
    error: {
      type: 'object',
      properties: {
        code: { type: 'integer', description: 'Code of JSON-RPC, MCP or A2A.' },
        message: textSchema('Cause.'),
      },
      required: ['code', 'message'],
    },
  },
  required: ['jsonrpc', 'id'],
  anyOf: [{ required: ['result'] }, { required: ['error'] }],
}

/** The body of a 402: x402 version 1. Version 2 is in the header. */
export const paymentRequiredSchema: JsonSchema = {
  type: 'object',
  description: 'x402 version 1; version 2 is in PAYMENT-REQUIRED.',
  properties: {
    x402Version: { const: 1 },
    error: {
      type: 'string',
      enum: ['payment_required', 'payment_invalid'],
      description: 'payment_invalid: see diagnostics.',
    },
    accepts: listOf({
      type: 'object',
      properties: {
        scheme: textSchema('x402 scheme.'),
        network: textSchema('Version 1 name.'),
        maxAmountRequired: {
          type: 'string',
          pattern: '^[0-9]+$',
          description: 'Price in atomic units; USDC has 6 decimals.',
        },
        resource: textSchema('Purchased URL.'),
        description: textSchema('Description of the resource.'),
        mimeType: textSchema('Media type.'),
        payTo: textSchema('Payee.'),
        maxTimeoutSeconds: {
          type: 'integer',
          description: 'Maximum validity of a payment.',
          'x-unit': 'seconds',
        },
        asset: textSchema('Token address.'),
        outputSchema: { type: 'object', description: 'Input and output.' },
        extra: { type: 'object', description: 'Data for the signature.' },
      },
      required: [
        ...['scheme', 'network', 'maxAmountRequired', 'resource', 'description', 'mimeType'],
        ...['payTo', 'maxTimeoutSeconds', 'asset'],
      ],
    }),
    diagnostics: {
      type: 'object',
      description: 'Why the payment was refused.',
      properties: {
        reason: textSchema('x402 error code.'),
        field: nullableSchema('string', 'Invalid field.'),
        expected: { type: ['string', 'null'] },
        received: { type: ['string', 'null'] },
        hint: textSchema('How to correct it.'),
        charged: nullableSchema('boolean', 'null if it may have been charged.'),
      },
      required: ['reason', 'field', 'expected', 'received', 'hint', 'charged'],
    },
  },
  required: ['x402Version', 'error', 'accepts'],
}
