// Which files of tests are started first. A long one that starts last keeps everybody waiting for it alone.

/** By how long they took when they were last measured. The rest follows in the order of their names. */
const LONG = [
  'test/contract/judge/invariants',
  'test/crash/judge',
  'test/crash/pool.',
  'test/crash/arena-storm',
  'test/crash/challenge',
  'test/crash/planted-bugs',
  'test/race/desk',
  'test/documents/run-samples',
  'test/crash/pool-server',
  'test/crash/',
  'test/race/',
  'src/core/files/',
  'src/core/embedded/',
  'test/browser/',
  'test/judge/',
  'test/contract/judge/',
  'test/contract/desk/',
  'test/contract/pool/',
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
