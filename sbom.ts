import { createHash } from 'node:crypto'

/** An entry of package-lock.json. */
export type LockedPackage = {
  readonly version?: string
  readonly license?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** Packages by their path, `node_modules/<name>`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>

type Component = {
  readonly 'bom-ref': string
  readonly type: 'application' | 'library'
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly scope?: 'required' | 'optional'
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[]
  readonly licenses: readonly [
    { readonly license: { readonly id: string } } | { readonly expression: string },
  ]
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

/** The members of CycloneDX 1.6 that are written. */
export type Sbom = {
  readonly $schema: string
  readonly bomFormat: 'CycloneDX'
  readonly specVersion: '1.6'
  readonly serialNumber: string
  readonly version: 1
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

export type Shipped = {
  readonly manifest: {
    readonly name: string
    readonly version: string
    readonly license: string
    readonly dependencies: Readonly<Record<string, string>>
  }
  readonly lock: LockedPackages
  /** Paths in the lock of the packages whose code is in the bundles. */
  readonly bundled: readonly string[]
  /** The licence of a package whose lock entry has none. */
  readonly licenceOf: (path: string) => string
}

/** What users receive: the bundled packages, and those that npm installs with this one. Equal for equal inputs. */
export function sbomOf({ manifest, lock, bundled, licenceOf }: Shipped): Sbom {
  const direct = Object.keys(manifest.dependencies)
  const installed = installedWith(direct, lock)
  const bundledSet = new Set(bundled)
  const entries = new Map<string, { path: string; component: Component }>()
  for (const path of [...installed, ...bundled].toSorted()) {
    const entry = lock[path]
    if (entry === undefined) throw new Error(`${path} is not in the lock`)
    const name = nameOf(path)
    const reference = `${name}@${entry.version}`
    if (entries.has(reference)) continue
    entries.set(reference, {
      path,
      component: {
        'bom-ref': reference,
        type: 'library',
        name,
        version: entry.version ?? '',
        purl: purlOf(name, entry.version ?? ''),
        scope: 'required',
        ...hashesOf(entry.integrity),
        licenses: [licenceChoice(entry.license ?? licenceOf(path))],
        properties: [
          { name: 'perpscope:shipped', value: bundledSet.has(path) ? 'bundled' : 'installed' },
        ],
      },
    })
  }
  const root = `${manifest.name}@${manifest.version}`
  const components = Array.from(entries.values(), ({ component }) => component)
  const dependencies = [
    { ref: root, dependsOn: rootDependencies(direct, lock, bundled) },
    ...Array.from(entries, ([ref, { path }]) => ({
      ref,
      dependsOn: wants(lock[path] ?? {}).flatMap((name) => {
        const found = locate(path, name, lock)
        const wanted = found === null ? '' : `${nameOf(found)}@${lock[found]?.version}`
        return entries.has(wanted) ? wanted : []
      }),
    })),
  ]
  const content = JSON.stringify([root, components, dependencies])
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: uuidOf(content),
    version: 1,
    metadata: {
      component: {
        'bom-ref': root,
        type: 'application',
        name: manifest.name,
        version: manifest.version,
        purl: purlOf(manifest.name, manifest.version),
        licenses: [licenceChoice(manifest.license)],
      },
    },
    components,
    dependencies,
  }
}

/** Paths in the lock that npm installs for these packages on any platform. */
export function installedWith(names: readonly string[], lock: LockedPackages): readonly string[] {
  const found = new Set<string>()
  const wanted = names.map((name) => ({ from: '', name }))
  for (let next = wanted.pop(); next !== undefined; next = wanted.pop()) {
    const path = locate(next.from, next.name, lock)
    if (path === null || found.has(path)) continue
    found.add(path)
    for (const name of wants(lock[path] ?? {})) wanted.push({ from: path, name })
  }
  return [...found]
}

/** Resolves like Node: the nearest `node_modules` above. */
function locate(from: string, name: string, lock: LockedPackages): string | null {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('/node_modules/')))) {
    const path = `${base === '' ? '' : `${base}/`}node_modules/${name}`
    if (path in lock) return path
    if (base === '') return null
  }
}

function wants({ dependencies, optionalDependencies }: LockedPackage): readonly string[] {
  return Object.keys({ ...dependencies, ...optionalDependencies })
}

/** A bundled package is part of this one, by whichever path it came. */
function rootDependencies(
  direct: readonly string[],
  lock: LockedPackages,
  bundled: readonly string[],
): readonly string[] {
  const paths = [...direct.map((name) => `node_modules/${name}`), ...bundled]
  return [...new Set(paths.map((path) => `${nameOf(path)}@${lock[path]?.version}`))].toSorted()
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

function licenceChoice(licence: string): Component['licenses'][0] {
  return / (OR|AND) /.test(licence) ? { expression: licence } : { license: { id: licence } }
}

function hashesOf(integrity: string | undefined): Pick<Component, 'hashes'> {
  const [, digest] = /\bsha512-(\S+)/.exec(integrity ?? '') ?? []
  if (digest === undefined) return {}
  return { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
}

/** Version 8 of RFC 9562: the digits are a digest of the content. */
function uuidOf(content: string): string {
  const digest = createHash('sha256').update(content).digest('hex')
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`]
  return `urn:uuid:${[...parts, `8${digest.slice(17, 20)}`, digest.slice(20, 32)].join('-')}`
}
