// Answers without an input: data that was left out of a published package, because it is large or made by a generator. Its
// other tests can be judged, but their labels are about all of them.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

export async function countMissingInputs(packageFolder: string): Promise<number> {
  let missing = 0
  for (const group of ['sample', 'secret']) {
    const names = await readdir(join(packageFolder, 'data', group), { recursive: true }).catch(() => [])
    const known = new Set(names)
    missing += names.filter((name) => name.endsWith('.ans') && !known.has(`${name.slice(0, -4)}.in`)).length
  }
  return missing
}
