// Judging and importing happen beside the thread that serves HTTP. The kernel counts the processor time of each thread.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { judge, putProblem, setup, TWICE } from './setup.ts'

const MAIN = `/proc/self/task/${process.pid}/stat`
const TICK_MS = 10
const UTIME = 11 // among the fields after the thread's name, which may contain blanks
const skip = existsSync(MAIN) ? false : 'there is no /proc here'
const TESTS = 200

/** Of the thread that serves, and of all threads of this process, in milliseconds. */
function spent(): { serving: number; all: number } {
  const fields = readFileSync(MAIN, 'utf8').split(') ')[1]?.split(' ') ?? []
  const { user, system } = process.cpuUsage()
  return { serving: (Number(fields[UTIME]) + Number(fields[UTIME + 1])) * TICK_MS, all: (user + system) / 1000 }
}

test('judge 5.12: a large package is read and judged outside the thread that serves HTTP', { skip }, async (t) => {
  const { url, ann } = await setup(t)
  const numbers = Array.from({ length: TESTS }, (_, n) => n)
  const tests = numbers.flatMap((n) => [
    [`data/secret/many${n}.in`, `${n}\n`],
    [`data/secret/many${n}.ans`, `${2 * n}\n`],
  ])
  const zip = packageOf(packageFiles(Object.fromEntries(tests)))
  await judge(url, ann, { code: TWICE.accepted }) // it is compiled, and everything is loaded
  const before = spent()

  const put = await putProblem(url, 'many', zip)
  const { verdict } = await judge(url, ann, { problem_id: 'many', code: TWICE.accepted })

  const after = spent()
  const serving = after.serving - before.serving
  const others = after.all - before.all - serving
  assert.equal(put.status, 201, JSON.stringify(put.body))
  assert.equal(verdict, 'AC')
  assert(serving < others, `${serving} ms of the thread that serves, ${others} ms of the others`)
})
