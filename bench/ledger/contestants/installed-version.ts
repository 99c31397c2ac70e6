import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The version in the package's own package.json, which not every package lets one import. */
export function installedVersion(name: string): string {
  let folder = dirname(createRequire(import.meta.url).resolve(name))
  while (!folder.endsWith(join('node_modules', name))) folder = dirname(folder)
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  if (typeof manifest !== 'object' || manifest === null || !('version' in manifest)) return 'unknown'
  return String(manifest.version)
}
