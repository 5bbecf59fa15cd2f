import { problemCodes } from '../../domain/problem.ts'
import { errorGuide } from './error-guide.ts'
import { SERVICE_NAME } from './service-facts.ts'

/** The page has neither scripts nor styles. */
export const ERROR_PAGE_POLICY =
  "default-src 'none'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** `/docs/errors`, with an anchor for each code; `type` and `docs` of a problem link here. */
export function errorPage(): string {
  const entries = problemCodes.map(
    ({ code, status, title }) =>
      `<h2 id="${code}">${status} ${code}</h2>\n<p><b>${escaped(title)}.</b> ${escaped(errorGuide[code].meaning)}</p>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${SERVICE_NAME}: errors</title>
<link rel="icon" href="/favicon.svg">
</head>
<body>
<h1>Errors</h1>
<p>Every error is application/problem+json (RFC 9457). charged: whether the payment was taken, by this
or an earlier request; the descriptions are about this request. payment_reusable: whether the same signed payment can be sent again.</p>
${entries.join('\n')}
</body>
</html>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
