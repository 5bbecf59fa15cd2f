import type { Registry } from 'prom-client'
import { readGauge, readGauges } from './read-gauge.ts'

type DiskSources = {
  /** Of the data directory; null if it cannot be read. */
  readonly disk: () => { readonly freeBytes: number; readonly totalBytes: number } | null
  /** Databases and their logs that exist, by the name of the file. */
  readonly files: () => Iterable<readonly [name: string, bytes: number]>
}

/** Disk of the data directory and the databases on it. */
export function measureDisk(metrics: Registry, { disk, files }: DiskSources): void {
  readGauge(
    metrics,
    'perpscope_disk_free_bytes',
    'Free bytes of the disk of the data directory.',
    () => disk()?.freeBytes ?? null,
  )
  readGauge(
    metrics,
    'perpscope_disk_size_bytes',
    'Size of the disk of the data directory.',
    () => disk()?.totalBytes ?? null,
  )
  readGauges(
    metrics,
    'perpscope_sqlite_size_bytes',
    'Size of a database of the data directory, or of its log (-wal).',
    'file',
    files,
  )
}
