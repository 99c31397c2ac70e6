// An archive of `N.in` and `N.out` (or `N.ans`) files without problem.yaml: the tests of a problem, all secret. It becomes a
// package, so that everything after the import knows one format only.
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listFolder } from './files.ts'
import { PackageError } from './package.ts'

const ANSWER_EXTENSIONS = ['.out', '.ans']

export interface FlatLimits {
  timeSec?: number | undefined
  memoryMb?: number | undefined
}

/** Whether these are the names of such an archive, in one folder. */
export const isFlatArchive = (names: Iterable<string>): boolean =>
  [...names].some((name) => name.endsWith('.in')) && ![...names].some((name) => name.includes('/'))

/** Moves the files of `folder` into a package at `target`. */
export async function packFlatArchive(folder: string, target: string, limits: FlatLimits): Promise<void> {
  const { files } = (await listFolder(folder)) ?? { files: [] }
  const tests = files.filter((name) => name.endsWith('.in')).map((name) => name.slice(0, -'.in'.length))
  const known = new Set(files)
  const width = Math.max(...tests.map((name) => name.length))
  const secret = join(target, 'data', 'secret')
  await mkdir(secret, { recursive: true })
  for (const name of tests) {
    const answer = ANSWER_EXTENSIONS.map((extension) => name + extension).find((file) => known.has(file))
    if (answer === undefined) throw new PackageError(`${name}.in has no ${name}.out and no ${name}.ans.`)
    const own = /^\d+$/.test(name) ? name.padStart(width, '0') : name // 2 is judged before 10
    await rename(join(folder, `${name}.in`), join(secret, `${own}.in`))
    await rename(join(folder, answer), join(secret, `${own}.ans`))
  }
  await writeFile(join(target, 'problem.yaml'), yamlOf(limits))
}

function yamlOf({ timeSec, memoryMb }: FlatLimits): string {
  const limits = [
    ...(timeSec === undefined ? [] : [`  time_limit: ${timeSec}`]),
    ...(memoryMb === undefined ? [] : [`  memory: ${memoryMb}`]),
  ]
  return limits.length === 0 ? '' : ['limits:', ...limits, ''].join('\n')
}
