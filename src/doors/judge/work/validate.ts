// A validator of the package judges one output. It runs in a box of its own, where it sees the input, the answer, the
// output, and a folder for its feedback.
import { join } from 'node:path'
import type { Validator } from '../package/package.ts'
import type { RunReport } from '../sandbox/box.ts'
import { readStart } from '../programs/read-start.ts'
import { JudgeFailure } from './box-run.ts'

const MESSAGE_BYTES_MAX = 4096
const SCORE_BYTES_MAX = 100

export interface Judgement {
  verdict: 'AC' | 'WA'
  /** Null: the group's own. */
  score: number | null
  /** For the contestant. */
  teamMessage: string
  /** Shown for samples only. */
  judgeMessage: string
}

const TESTLIB_POINTS = 7

/** The meaning of a validator's exit code. Throws if the validator is broken. */
export async function judgementOf(
  validator: Validator,
  report: RunReport,
  places: { feedback: string; stderr: string },
): Promise<Judgement> {
  const said = (file: string) => readStart(join(places.feedback, file), MESSAGE_BYTES_MAX)
  const stderr = await readStart(places.stderr, MESSAGE_BYTES_MAX)
  const verdict = verdictOf(validator, report, stderr)
  const own = validator.protocol === 'testlib' ? stderr : await said('judgemessage.txt')
  return {
    verdict,
    score: verdict === 'AC' ? await scoreOf(validator, report, places.feedback, stderr) : null,
    teamMessage: await said('teammessage.txt'),
    judgeMessage: own,
  }
}

function verdictOf({ protocol, scores }: Validator, report: RunReport, stderr: string): 'AC' | 'WA' {
  const { verdict, exitCode, exitSignal } = report
  const ended = exitSignal === 0 && (verdict === 'OK' || verdict === 'RE')
  if (ended && exitCode === 42) return 'AC'
  if (ended && exitCode === 43) return 'WA'
  if (ended && protocol === 'testlib') {
    if (exitCode === 0) return 'AC'
    if (exitCode === 1 || exitCode === 2) return 'WA' // wrong answer; presentation error
    if (exitCode === TESTLIB_POINTS) return scores === 'no' ? 'WA' : 'AC'
  }
  throw new JudgeFailure(`The output validator ${endOf(report)}.`, { final: true, detail: stderr.slice(0, 500) })
}

function endOf({ verdict, exitCode, exitSignal }: RunReport): string {
  if (verdict === 'TLE') return 'took too long'
  if (verdict === 'MLE') return 'took too much memory'
  if (verdict === 'OLE') return 'wrote too much'
  return exitSignal === 0 ? `ended with ${exitCode}` : `was killed by signal ${exitSignal}`
}

async function scoreOf(
  { scores, protocol }: Validator,
  { exitCode }: RunReport,
  feedback: string,
  stderr: string,
): Promise<number | null> {
  if (protocol === 'testlib')
    return exitCode === TESTLIB_POINTS ? numberFrom(/^points\s+(\S+)/.exec(stderr)?.[1]) : null
  const text = (await readStart(join(feedback, 'score.txt'), SCORE_BYTES_MAX)).trim()
  if (text === '' && scores !== 'must') return null
  if (scores === 'no') throw new JudgeFailure('The output validator wrote a score, and the problem has none.', FINAL)
  return numberFrom(text)
}

const FINAL = { final: true }

function numberFrom(text: string | undefined): number {
  const score = text === undefined || text === '' ? NaN : Number(text)
  if (Number.isFinite(score)) return score
  throw new JudgeFailure('The output validator gave no score that is a number.', FINAL)
}

/** Its arguments: the files as it sees them. */
export function validatorArguments(
  { protocol }: Validator,
  sees: { input: string; answer: string; output: string; feedback: string },
  flags: readonly string[],
): string[] {
  const { input, answer, output, feedback } = sees
  return protocol === 'testlib' ? [input, output, answer] : [input, answer, `${feedback}/`, ...flags]
}
