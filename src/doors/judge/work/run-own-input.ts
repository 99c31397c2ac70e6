// A program run on an input of its author's own. Nothing is compared: a run that ends normally is accepted.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from '../package/package.ts'
import { runOnce, unstarved } from './box-run.ts'
import { readStart } from '../programs/read-start.ts'
import { messageOf, timeOf, type TestResult } from './run-test.ts'
import { contestantRun, timeLimitOf, type TestRun } from './test-run.ts'

const SHOWN_BYTES_MAX = 64 * 1024

export async function runOwnInput(testRun: TestRun, input: string): Promise<TestResult> {
  const { scope, slot, contestantBox } = testRun
  const { output, errors } = slot.files
  const inputPath = join(slot.io, 'own.in')
  await writeFile(inputPath, input)
  const pipes = { stdinPath: inputPath, stdoutPath: output, stderrPath: errors }
  const run = await unstarved(scope, () => runOnce(scope, contestantBox, contestantRun(testRun, pipes)))
  const test: Test = { kind: 'test', name: 'input', isSample: true, inputPath, answerPath: '', validatorFlags: [] }
  return {
    test,
    verdict: run.verdict === 'OK' ? 'AC' : run.verdict,
    score: null,
    timeMs: timeOf(run, timeLimitOf(testRun)),
    memKb: run.memKb,
    message: messageOf(run, null, test),
    shown: {
      input: await readStart(inputPath, SHOWN_BYTES_MAX),
      expected: null,
      output: run.outputBytes === 0 ? '' : await readStart(output, SHOWN_BYTES_MAX),
      errors: run.outputBytes === 0 ? '' : await readStart(errors, SHOWN_BYTES_MAX),
    },
  }
}
