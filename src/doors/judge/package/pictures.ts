// Pictures of the statement. Only kinds that a browser shows as a picture, told by their names.
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { listFolder } from './files.ts'
import { STATEMENT_FOLDERS } from './statement.ts'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/
const PICTURES_MAX = 50
export const PICTURE_BYTES_MAX = 2 * 1024 * 1024

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  ['gif', 'image/gif'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['png', 'image/png'],
  ['svg', 'image/svg+xml'],
  ['webp', 'image/webp'],
])

export interface StatementPicture {
  name: string
  /** In the package. */
  path: string
  sha256: string
}

/** Null: not a picture. */
export const pictureType = (name: string): string | null =>
  (NAME.test(name) ? CONTENT_TYPES.get(name.slice(name.lastIndexOf('.') + 1).toLowerCase()) : undefined) ?? null

/** Those beside the statement, the first ones by name; larger ones than PICTURE_BYTES_MAX are left out. */
export async function readPictures(packageFolder: string): Promise<StatementPicture[]> {
  const pictures = new Map<string, StatementPicture>()
  for (const folder of STATEMENT_FOLDERS) {
    for (const name of (await listFolder(join(packageFolder, folder)))?.files ?? []) {
      if (pictures.size === PICTURES_MAX || pictures.has(name) || pictureType(name) === null) continue
      const path = join(folder, name)
      if ((await stat(join(packageFolder, path))).size > PICTURE_BYTES_MAX) continue
      const hash = createHash('sha256').update(await readFile(join(packageFolder, path)))
      pictures.set(name, { name, path, sha256: hash.digest('hex') })
    }
  }
  return [...pictures.values()]
}
