// Which files of tests are started first. A long one that starts last keeps everybody waiting for it alone.

/**
 * By how long they took when they were last measured, those that mostly wait before those that compute: the others fill their
 * pauses. The rest follows in the order of their names.
 */
const LONG = [
  'test/crash/desk-commits',
  'test/contract/judge/invariants',
  'test/crash/pool-commits',
  'test/browser/console/desk.',
  'test/crash/judge',
  'test/contract/judge/streams',
  'test/browser/console/',
  'test/crash/redis-loss',
  'test/crash/postgres-restart',
  'test/crash/steps',
  'test/race/arena-queue',
  'test/crash/arena-storm',
  'test/crash/pool.',
  'test/crash/drill',
  'test/crash/challenge',
  'test/contract/judge/verdicts',
  'test/race/desk',
  'test/crash/',
  'test/judge/judging',
  'test/judge/commands',
  'test/pool/simulation',
  'test/browser/',
  'test/backup/',
  'test/embedded/',
  'test/race/',
  'test/files/files',
  'test/documents/run-samples',
  'test/judge/',
  'test/contract/',
]

export function inOrder(files: readonly string[]): string[] {
  const rank = (file: string) => {
    const at = LONG.findIndex((start) => file.startsWith(start))
    return at === -1 ? LONG.length : at
  }
  return files.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

/** What `--quick` runs: the rules of the house, the parts without servers, the ledger, and one file of each door. */
export const QUICK = [
  'test/tidy.test.ts',
  'test/unit/',
  'test/ledger/submit',
  'test/ledger/acquire',
  'test/ledger/finalize',
  'test/contract/core/http',
  'test/contract/judge/submit',
  'test/contract/challenge/solve',
  'test/contract/pool/submit',
  'test/contract/desk/locks',
  'test/contract/arena/session',
]
