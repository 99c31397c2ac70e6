// The sample problems that come with Reeve. They are installed only if there is no problem at all, so that a first start has
// something to submit to and an admin's changes are left alone.
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importZip, type ImportDeps } from './import-problem.ts'
import { zipFolder } from '../package/zip-folder.ts'

/** Beside the sources, and beside what is built from them. */
export const SAMPLES = fileURLToPath(new URL('../../../../problems/', import.meta.url))

/** Their ids; none if there were problems already. */
export async function installSamples(deps: ImportDeps): Promise<string[]> {
  if (await deps.problems.hasAny()) return []
  const installed: string[] = []
  for (const entry of await readdir(SAMPLES, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue
    await importFolder(deps, join(SAMPLES, entry.name), entry.name)
    installed.push(entry.name)
  }
  return installed
}

async function importFolder(deps: ImportDeps, folder: string, problemId: string) {
  await mkdir(deps.folder, { recursive: true, mode: 0o700 })
  const draft = await mkdtemp(join(deps.folder, 'zip-'))
  try {
    const zip = join(draft, 'package.zip')
    await zipFolder(folder, zip)
    return await importZip(deps, zip, { problemId, accountId: null })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
