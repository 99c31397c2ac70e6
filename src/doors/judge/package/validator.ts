// The program that judges the output, where a package brings one. Older packages keep it in output_validators/, in a folder
// of its own or as a single file; newer ones in output_validator/.
import { join } from 'node:path'
import { listFolder, readSmallText } from './files.ts'
import { PackageError, type Validator } from './package.ts'

const DEPTH_MAX = 4
const FILES_MAX = 200
const FOLDERS = ['output_validators', 'output_validator']

/** Scripts that a validator may bring instead of being compiled by its language: either of them, or both. */
export const BUILD = 'build'
export const RUN = 'run'

export const isScripted = (files: readonly string[]): boolean => files.includes(BUILD) || files.includes(RUN)

/** Null: the package has no validator. */
export async function readValidator(packageFolder: string, scores: Validator['scores']): Promise<Validator | null> {
  for (const name of FOLDERS) {
    const sources = await sourcesIn(packageFolder, name)
    if (sources !== null) return { ...sources, protocol: await protocolOf(sources), scores }
  }
  return null
}

async function sourcesIn(packageFolder: string, name: string): Promise<Sources | null> {
  const folder = join(packageFolder, name)
  const listed = await listFolder(folder)
  if (listed === null || listed.files.length + listed.folders.length === 0) return null
  const [only] = listed.folders
  if (listed.files.length > 0) return { folder, files: await filesBelow(folder) }
  if (only === undefined || listed.folders.length > 1) throw new PackageError(`${name} holds more than one validator.`)
  const files = await filesBelow(join(folder, only))
  if (files.length === 0) throw new PackageError(`${name}/${only} holds no file.`)
  return { folder: join(folder, only), files }
}

/** A validator may have its headers in folders of their own. Files at the top come first: one of them is started. */
async function filesBelow(folder: string, below = '', depth = 1): Promise<string[]> {
  const listed = await listFolder(join(folder, below))
  if (listed === null) return []
  if (depth > DEPTH_MAX) throw new PackageError('The folders of the validator are nested too deeply.')
  const inside = await Promise.all(listed.folders.map((name) => filesBelow(folder, join(below, name), depth + 1)))
  const files = [...listed.files.map((name) => join(below, name)), ...inside.flat()]
  if (files.length > FILES_MAX) throw new PackageError(`The validator has more than ${FILES_MAX} files.`)
  return files
}

interface Sources {
  folder: string
  files: string[]
}

async function protocolOf({ folder, files }: Sources): Promise<Validator['protocol']> {
  if (isScripted(files)) return 'kattis'
  for (const file of files.filter((name) => /\.(cc|cpp|cxx|c\+\+)$/.test(name))) {
    const protocol = protocolInSource((await readSmallText(join(folder, file))) ?? '')
    if (protocol !== null) return protocol
  }
  return 'kattis'
}

/** testlib speaks the other protocol when it is built for DOMjudge. Null: the source does not include testlib. */
export function protocolInSource(text: string): Validator['protocol'] | null {
  const directives = text.split('\n').flatMap((line) => {
    const trimmed = line.trim()
    return trimmed.startsWith('#') ? [trimmed.slice(1).trim()] : []
  })
  const includes = directives.some(
    (one) => one.startsWith('include') && /^[<"]testlib\.h[>"]/.test(one.slice(7).trim()),
  )
  if (!includes) return null
  return directives.some((one) => /^define\s+DOMJUDGE\b/.test(one)) ? 'kattis' : 'testlib'
}
