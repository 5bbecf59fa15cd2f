import type { Message } from '@a2a-js/sdk'
import { isRecord, parsedJson } from '../../domain/json.ts'
import type { AnalysisTool } from '../mcp/mcp-tools.ts'

const PARTS_MAX = 8
const TEXT_CHARS_MAX = 2_000
/** A task stores the URL. */
const URL_CHARS_MAX = 2_000

/**
 * Path and query for a message: a data part `{ "analysis": "pulse", "coin": "BTC", … }` with the parameters of the
 * path, the same as text, or words such as `pulse BTC`. null for an unknown analysis.
 */
export function requestedUrl(
  { parts }: Message,
  tools: ReadonlyMap<string, AnalysisTool>,
): string | null {
  for (const { content } of parts.slice(0, PARTS_MAX)) {
    const requested =
      content?.$case === 'data'
        ? fromData(content.value)
        : content?.$case === 'text'
          ? fromText(content.value)
          : null
    const tool = requested === null ? undefined : tools.get(requested.analysis)
    if (requested === null || tool === undefined) continue
    const url = tool.urlOf(requested.args)
    return url.length <= URL_CHARS_MAX ? url : null
  }
  return null
}

type RequestedAnalysis = {
  readonly analysis: string
  readonly args: Readonly<Record<string, unknown>>
}

function fromData(value: unknown): RequestedAnalysis | null {
  if (!isRecord(value)) return null
  const { analysis, ...args } = value
  return typeof analysis === 'string' ? { analysis, args } : null
}

function fromText(whole: string): RequestedAnalysis | null {
  const text = whole.slice(0, TEXT_CHARS_MAX).trim()
  if (text.startsWith('{')) return fromData(parsedJson(text))
  // Accepts a path too, and a pair with a slash.
  const [, analysis = '', rest = ''] = /^\/?([^\s/]*)[\s/]*(.*)$/s.exec(text) ?? []
  const [coin, ...others] = rest.split(/\s+/).filter((word) => word !== '')
  // The path refuses further words, which may be meant as parameters.
  const args = Object.fromEntries(others.map((word) => [word, '']))
  return { analysis: analysis.toLowerCase(), args: coin === undefined ? args : { ...args, coin } }
}
