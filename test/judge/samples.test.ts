// The problems that come with Reeve: every submission in them gets the verdict of its label.
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { SAMPLES } from '../../src/doors/judge/problems/install-samples.ts'
import { loadLanguages } from '../../src/doors/judge/languages/language.ts'
import { readPackage } from '../../src/doors/judge/package/read-package.ts'
import { unzip } from '../../src/doors/judge/package/unzip.ts'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { verifyPackage } from '../../src/doors/judge/verify/verify-package.ts'
import { problemFrom } from '../../src/doors/judge/work/loaded-problems.ts'
import { atEnd } from '../support/cleanup.ts'
import { cannotTest } from './rig.ts'
import { log, openTestWorker } from './judge-worker.ts'

const LABELS = ['accepted', 'wrong_answer', 'time_limit_exceeded', 'run_time_error']

describe('the sample problems', { skip: cannotTest }, () => {
  test('every submission of each is judged as it is labelled', { timeout: 240_000, concurrency: 2 }, async (t) => {
    const languages = await loadLanguages('')
    const worker = await openTestWorker(t, { languages: () => languages, slots: 2 })
    const folder = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    const verifyOne = (name: string) =>
      t.test(name, async () => {
        const zip = path.join(folder, `${name}.zip`)
        await zipFolder(path.join(SAMPLES, name), zip)
        const { folder: own } = await unzip(zip, path.join(folder, name), 1e8)
        const problem = problemFrom(await readPackage(own))

        const signal = new AbortController().signal
        const verified = await verifyPackage(worker, problem, languages, { signal, log })

        const wrong = verified.filter(({ outcome }) => outcome === 'differs' || outcome === 'not labelled')
        assert.deepEqual(
          wrong.map(({ submission, judged, why }) => [submission.name, judged?.verdict, why]),
          [],
        )
        const labels = new Set(verified.map(({ submission }) => submission.folder))
        for (const label of LABELS) assert(labels.has(label), `${name} has no submission that is ${label}`)
        assert(problem.package.statement !== null, `${name} has no statement`)
      })
    await Promise.all((await readdir(SAMPLES)).map(verifyOne))
  })
})
