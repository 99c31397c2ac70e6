// The task that is open, and what one can do with it. The address names it: a link leads to it, and a reload comes back to it.
import { ReeveError, type DeskSolution, type DeskTask } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { notify } from '../../../parts/feedback/notify.ts'
import { client, queries } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'
import { isWaiting } from '../queue/queue-state.ts'
import type { Queue } from '../queue/use-queue.ts'
import { dropDraft } from './draft.ts'

const TRIES_MAX = 20

const keyOf = (uuid: string) => ['desk', 'task', uuid]

/** What is known of the open task; its form's pictures are in the whole task only. */
export function useTask(uuid: string | undefined) {
  return useQuery({
    queryKey: keyOf(uuid ?? ''),
    queryFn: () => client.desk.get(uuid ?? ''),
    enabled: uuid !== undefined,
  })
}

export function noteTask(task: DeskTask): void {
  queries.setQueryData<DeskTask>(keyOf(task.uuid), (known) =>
    known === undefined || Date.parse(known.updated_at) > Date.parse(task.updated_at)
      ? known
      : { ...task, form: known.form },
  )
}

export interface Work {
  /** Claims it and opens it. */
  take(task: DeskTask): Promise<void>
  close(): void
  renew(uuid: string): Promise<void>
  solve(task: DeskTask, solution: DeskSolution): Promise<void>
  markUnsolvable(task: DeskTask, reason: string): Promise<void>
  giveBack(task: DeskTask): Promise<void>
}

export function useWork({ queue, me, isOperator }: { queue: Queue; me: string; isOperator: boolean }): Work {
  const navigate = useNavigate({ from: '/console/desk' })
  const open = (uuid: string | undefined) =>
    navigate({
      to: '/console/desk',
      search: ({ task: _old, ...rest }) => ({ ...rest, ...(uuid === undefined ? {} : { task: uuid }) }),
    })
  const close = () => void open(undefined)

  const claim = (task: DeskTask) => claimFor(me, task, queue)
  const take = async (task: DeskTask) => {
    if (!isOperator || !isWaiting(task)) {
      await open(task.uuid)
      return
    }
    try {
      if (!(await claim(task))) notify({ title: 'Somebody else was quicker', detail: task.domain, tone: 'warn' })
      else await open(task.uuid)
    } catch (error) {
      notify({ title: 'The task could not be claimed', detail: messageOf(error), tone: 'bad' })
    }
  }
  /** The next one that waits, after this one in the list. */
  const takeNext = async (after: string) => {
    const at = queue.rows.findIndex(({ uuid }) => uuid === after)
    const inTurn = [...queue.rows.slice(at + 1), ...queue.rows.slice(0, Math.max(0, at)), ...queue.fresh]
    for (const task of inTurn.filter((one) => one.uuid !== after && isWaiting(one)).slice(0, TRIES_MAX))
      if (await claim(task)) return void (await open(task.uuid))
    close()
  }
  const end = async (task: DeskTask, work: () => Promise<{ task: DeskTask; message: string }>) => {
    const { task: ended, message } = await work()
    dropDraft(task.uuid)
    noteTask(ended)
    queue.put(ended)
    notify({ title: message, detail: task.domain })
    await takeNext(task.uuid)
  }

  return {
    take,
    close,
    async renew(uuid) {
      const { task } = await client.desk.claim(uuid, me)
      noteTask(task)
      queue.put(task)
    },
    solve: (task, solution) => end(task, () => client.desk.solve(task.uuid, solution)),
    markUnsolvable: (task, reason) => end(task, () => client.desk.markUnsolvable(task.uuid, reason)),
    async giveBack(task) {
      try {
        const given = await client.desk.release(task.uuid)
        noteTask(given)
        queue.put(given)
        const again = { label: 'Take it again', run: () => void take(given) }
        notify({ title: 'You gave the task back', detail: task.domain, action: again })
        close()
      } catch (error) {
        notify({ title: 'The task could not be given back', detail: messageOf(error), tone: 'bad' })
      }
    },
  }
}

/** False: somebody else has it. */
async function claimFor(me: string, task: DeskTask, queue: Pick<Queue, 'put'>): Promise<boolean> {
  try {
    const { task: claimed } = await client.desk.claim(task.uuid, me)
    queries.setQueryData(keyOf(task.uuid), claimed)
    queue.put(claimed)
    return true
  } catch (error) {
    if (!(error instanceof ReeveError) || error.status !== 409) throw error
    const now = await client.desk.get(task.uuid)
    queue.put(now)
    queries.setQueryData(keyOf(task.uuid), now)
    return false
  }
}
