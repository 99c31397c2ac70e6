// Which files of tests share a process. To load the server and to start one takes a second of a core, which most files need less than.
import { dirname } from 'node:path'

const GROUPED = [
  'test/arena/',
  'test/browser/console/',
  'test/challenge/',
  'test/cli/',
  'test/contract/',
  'test/deliveries/',
  'test/desk/',
  'test/dropin/',
  'test/events/',
  'test/executor/',
  'test/feed/',
  'test/ledger/',
  'test/outbound/',
  'test/outbox/',
  'test/pool/',
  'test/quotas/',
  'test/retention/',
  'test/schema/',
  'test/unit/',
  'test/watch/',
]
/** They take longer than the others together, look at the whole process, or need a database that no statistics were gathered of. */
const ALONE = [
  'test/arena/plans',
  'test/browser/console/admin',
  'test/browser/console/desk.',
  'test/challenge/event-loop',
  'test/challenge/plans',
  'test/contract/judge/invariants',
  'test/contract/judge/streams',
  'test/desk/plans',
  'test/ledger/plans',
  'test/pool/simulation',
]
const FILES_MAX = 5

/** In the order in which their first files were given. */
export function inGroups(files: readonly string[]): string[][] {
  const groups: string[][] = []
  const open = new Map<string, string[]>()
  for (const file of files) {
    const folder = dirname(file)
    const isGrouped = startsWithAny(file, GROUPED) && !startsWithAny(file, ALONE)
    const group = open.get(folder)
    if (isGrouped && group !== undefined && group.length < FILES_MAX) {
      group.push(file)
      continue
    }
    const begun = [file]
    groups.push(begun)
    if (isGrouped) open.set(folder, begun)
  }
  return groups
}

const startsWithAny = (file: string, starts: readonly string[]): boolean =>
  starts.some((start) => file.startsWith(start))
