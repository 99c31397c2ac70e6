// What a run says at its end: how many tests, which were skipped and why, which files took longest, what failed.
import type { RanGroup } from './run-files.ts'

const LONGEST = 10

/** The exit code. */
export function report(ran: readonly RanGroup[], ms: number): number {
  const failed = ran.filter(({ ok }) => !ok)
  const skipped = ran.flatMap(({ name, skipped }) => skipped.map((what) => `  ${name}: ${what}`))
  const longest = ran.toSorted((a, b) => b.ms - a.ms).slice(0, LONGEST)
  const tests = ran.reduce((sum, group) => sum + group.tests, 0)
  const files = ran.reduce((sum, group) => sum + group.files, 0)

  console.log(`\nThe files that took longest:`)
  for (const { name, ms, cpuMs } of longest) console.log(`  ${seconds(ms)} s (processor ${seconds(cpuMs)} s)  ${name}`)
  if (skipped.length > 0) console.log(`\nSkipped:\n${skipped.join('\n')}`)
  for (const { output } of failed) console.log(failures(output))
  if (failed.length > 0) console.log(`\nFailed:\n${failed.map(({ name }) => `  ${name}`).join('\n')}`)
  const minutes = `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
  console.log(`\n${failed.length === 0 ? '✔' : '✖'} ${tests} tests in ${files} files, ${minutes}`)
  return failed.length === 0 ? 0 : 1
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1).padStart(6)

/** The part in which the test runner repeats what failed, or everything if it did not come to that. */
function failures(output: string): string {
  const at = output.indexOf('✖ failing tests:')
  return at === -1 ? output : output.slice(at)
}
