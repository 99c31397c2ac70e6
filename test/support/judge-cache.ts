// What compilers made for the judge: the sandbox's helper, programs, headers. Files of tests share it, since a run compiles the same
// programs in a dozen files. The folder is test/run.ts's, or one for this file when it is run alone.
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after } from 'node:test'
import { buildHelper } from '../../src/doors/judge/sandbox/build.ts'

const given = process.env['REEVE_TEST_JUDGE']
const folder = given === undefined ? mkdtemp(join(tmpdir(), 'reeve-test-judge-')) : Promise.resolve(given)
if (given === undefined) after(async () => rm(await folder, { recursive: true, force: true }))

/** As JUDGE_CACHE_DIR. */
export const judgeCache = (): Promise<string> => folder

/** As JUDGE_LANGUAGES_FILE. To ask all languages for their versions takes seconds at every start (a Java machine, Cargo). */
export const fewLanguages = folder.then(async (folder) => {
  const file = join(folder, `languages-${process.pid}.json`)
  await writeFile(file, JSON.stringify({ java: null, javascript: null, rust: null }))
  return file
})

/** For a cache of one's own: the helper, so that it need not be compiled again. */
export async function withHelper(cache: string): Promise<string> {
  await mkdir(cache, { recursive: true })
  const { box, probe } = await buildHelper(await folder)
  const there = await readdir(cache)
  for (const program of [box, probe])
    if (!there.includes(basename(program))) await copyFile(program, join(cache, basename(program)))
  return cache
}
