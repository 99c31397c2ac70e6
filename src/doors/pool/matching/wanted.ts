// Which polls a pass serves, and which tasks it needs for them. Of the classes in which tasks waited at the last pass, the first tasks
// are read in the statement that finds the classes: mostly tasks wait in no others, and one statement is enough.
import type { RequirementClass, RequirementClasses } from '../tasks/requirement-classes.ts'
import { isEligible } from '../tasks/requirements.ts'
import type { Worker } from '../workers/presence.ts'
import type { Candidates, PollingOwner, WaitingTask, WantedTasks } from './candidates.ts'
import type { WaitingPoll, WaitingPolls } from './waiting-polls.ts'

export const POLLS_PER_PASS_MAX = 500
const TASKS_PER_CLASS_MAX = 100
const EXPECTED_CLASSES_MAX = 10 // each is compared with the workers that wait, before it is known that a task waits

export interface Wanted extends WantedTasks {
  polls: readonly WaitingPoll[]
  /** If they were read already. */
  tasks?: readonly WaitingTask[]
}

const NOTHING: Wanted = { polls: [], classes: [], owners: [] }

/** Only a few classes of jobs: canaries are read in another way. */
const expectedAfter = (classes: readonly RequirementClass[]): readonly RequirementClass[] =>
  classes.length <= EXPECTED_CLASSES_MAX && classes.every(({ clientId }) => clientId !== null) ? classes : []

/** What can be of use to these polls: of each class as many tasks as there are workers for it. */
function wantedBy(polls: readonly WaitingPoll[], classes: readonly RequirementClass[]): Wanted {
  const profiles = new Map<string, { worker: Worker; count: number }>()
  const owners = new Map<string, PollingOwner>()
  for (const { worker, profile, isTrusted } of classes.length === 0 ? [] : polls) {
    const known = profiles.get(profile) ?? { worker, count: 0 }
    known.count += 1
    profiles.set(profile, known)
    owners.set(`${worker.ownerId} ${isTrusted}`, { ownerId: worker.ownerId, isTrusted })
  }
  const wanted = classes.flatMap((one) => {
    if (one.clientId === null) return []
    const workers = [...profiles.values()].reduce(
      (sum, { worker, count }) => sum + (isEligible(one, worker) ? count : 0),
      0,
    )
    return workers === 0 ? [] : [{ classId: one.classId, limit: Math.min(TASKS_PER_CLASS_MAX, workers) }]
  })
  return { polls, classes: wanted, owners: [...owners.values()] }
}

interface Looked {
  /** In which tasks wait: a page of them. */
  classes: readonly RequirementClass[]
  /** 0: it was the last page. */
  next: number
  /** How many polls may be served. Those that are, at most 500, are in `wanted`. */
  eligible: number
  wanted: Wanted
}

/** Polls that are eligible for no class are left out; of very many, `offset` says with which a pass starts. */
export function openWanted(
  { candidates, classes: known }: { candidates: Candidates; classes: RequirementClasses },
  polls: WaitingPolls,
): (offset: number) => Promise<Looked> {
  let lastClass = 0
  let lastClasses: readonly RequirementClass[] = []
  return async (offset) => {
    const isSmall = polls.size <= POLLS_PER_PASS_MAX
    const expected = isSmall ? wantedBy(eligibleOf(polls.all(), lastClasses), lastClasses) : NOTHING
    const { classIds, next, tasks } = await candidates.waitingClasses(lastClass, expected)
    const classes = await known.byId(classIds)
    const isExpected = isSmall && classes.every((one) => lastClasses.includes(one))
    lastClass = next
    if (classes.length > 0) lastClasses = expectedAfter(classes)
    if (classes.length === 0) return { classes, next, eligible: 0, wanted: NOTHING }
    if (isExpected) {
      // Read for those who waited then.
      const present = eligibleOf(expected.polls, classes).filter(({ waiter }) => !waiter.hasLeft)
      return { classes, next, eligible: present.length, wanted: { ...expected, polls: present, tasks } }
    }
    const eligible = eligibleOf(polls.all(), classes)
    const served = rotated(eligible, offset).slice(0, POLLS_PER_PASS_MAX)
    return { classes, next, eligible: eligible.length, wanted: wantedBy(served, classes) }
  }
}

function eligibleOf(present: readonly WaitingPoll[], classes: readonly RequirementClass[]): WaitingPoll[] {
  const known = new Map<string, boolean>()
  return present.filter(({ worker, profile }) => {
    if (worker.isBanned || worker.isPaused) return false
    const isOfUse = known.get(profile) ?? classes.some((one) => isEligible(one, worker))
    known.set(profile, isOfUse)
    return isOfUse
  })
}

function rotated<Item>(items: readonly Item[], by: number): Item[] {
  const start = items.length === 0 ? 0 : by % items.length
  return [...items.slice(start), ...items.slice(0, start)]
}
