/** The order of the pages. A page that no group names is in `More`, and fails a test. */
export type Group = { readonly title: string; readonly sources: readonly string[] }

const groups: readonly Group[] = [
  { title: 'Start', sources: ['README.md', 'docs/first-answer.md', 'docs/run-for-real.md'] },
  {
    title: 'Pay',
    sources: ['docs/paying.md', 'docs/payment-extensions.md', 'docs/conformance.md'],
  },
  {
    title: 'Numbers',
    sources: [
      'docs/promises.md',
      ...['meta', 'pulse', 'spread', 'funding', 'oi', 'liquidations', 'correlation', 'screener'],
      ...['regime', 'basis', 'cex-dex', 'volatility', 'arb', 'depeg', 'sentiment', 'bundle'],
      ...['track-record', 'track-record-statistics'],
    ].map((name) => (name.includes('/') ? name : `docs/numbers/${name}.md`)),
  },
  {
    title: 'Operate',
    sources: [
      ...[
        'operating',
        'configuration',
        'configuration-reference',
        'run-book',
        'upgrade',
        'console',
        'recording',
        'memory',
      ],
      ...['outgrow-one-machine', 'growth', 'install-figures'],
    ].map((name) => `docs/${name}.md`),
  },
  {
    title: 'Security',
    sources: ['SECURITY.md', 'docs/supply-chain.md', 'docs/payment-attacks.md'],
  },
  {
    title: 'Develop',
    sources: [
      ...['CONTRIBUTING.md', 'docs/architecture.md', 'docs/testing.md'],
      ...['docs/faults.md', 'docs/simulated-world.md', 'docs/external-faults.md'],
      ...['bench/BENCHMARKS.md', 'CHANGELOG.md'],
    ],
  },
]

/** @param sources every page that exists, by its path in the repository */
export function navigation(sources: ReadonlySet<string>): readonly Group[] {
  const named = new Set(groups.flatMap((group) => group.sources))
  const others = [...sources].filter((source) => !named.has(source)).toSorted()
  const isDecision = (source: string) => source.startsWith('docs/decisions/')
  return [
    ...groups.map(({ title, sources: all }) => ({
      title,
      sources: all.filter((source) => sources.has(source)),
    })),
    { title: 'More', sources: others.filter((source) => !isDecision(source)) },
    { title: 'Decisions', sources: others.filter(isDecision) },
  ].filter((group) => group.sources.length > 0)
}

/** `docs/numbers/oi.md` is `numbers/oi.html`, and the README is the first page. */
export function urlOf(source: string): string {
  if (source === 'README.md') return 'index.html'
  return source
    .replace(/^(docs|bench)\//, '')
    .replace(/\.md$/, '.html')
    .toLowerCase()
}
