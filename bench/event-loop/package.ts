// A problem with a thousand tests, as its author would upload it.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'

export const TESTS = 1000

export async function packageOf(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const own = join(folder, 'thousand')
  await mkdir(join(own, 'data', 'secret'), { recursive: true })
  await writeFile(join(own, 'problem.yaml'), 'name: A thousand tests\nlimits: {time_limit: 2, memory: 256}\n')
  for (let n = 1; n <= TESTS; n += 1) {
    await writeFile(join(own, 'data', 'secret', `${n}.in`), `${n}\n`)
    await writeFile(join(own, 'data', 'secret', `${n}.ans`), `${2 * n}\n`)
  }
  const zip = join(folder, 'thousand.zip')
  await zipFolder(own, zip)
  return new Uint8Array(await readFile(zip))
}
