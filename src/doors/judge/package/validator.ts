// The program that judges the output, where a package brings one. Older packages keep it in output_validators/, in a folder
// of its own or as a single file; newer ones in output_validator/.
import { join } from 'node:path'
import { listFolder, readSmallText } from './files.ts'
import { PackageError, type Validator } from './package.ts'

const FOLDERS = ['output_validators', 'output_validator']
const TESTLIB = /^\s*#\s*include\s*[<"]testlib\.h[>"]/m
// testlib speaks the other protocol when it is built for DOMjudge.
const TESTLIB_AS_KATTIS = /^\s*#\s*define\s+DOMJUDGE\b/m

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
  if (listed.files.length > 0) return { folder, files: listed.files }
  if (only === undefined || listed.folders.length > 1) throw new PackageError(`${name} holds more than one validator.`)
  const inside = await listFolder(join(folder, only))
  if (inside === null || inside.files.length === 0) throw new PackageError(`${name}/${only} holds no file.`)
  return { folder: join(folder, only), files: inside.files }
}

interface Sources {
  folder: string
  files: string[]
}

async function protocolOf({ folder, files }: Sources): Promise<Validator['protocol']> {
  for (const file of files.filter((name) => /\.(cc|cpp|cxx|c\+\+)$/.test(name))) {
    const text = (await readSmallText(join(folder, file))) ?? ''
    if (TESTLIB.test(text)) return TESTLIB_AS_KATTIS.test(text) ? 'kattis' : 'testlib'
  }
  return 'kattis'
}
