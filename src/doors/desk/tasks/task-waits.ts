// Waiting for the end of a task. The ledger tells the end of its job, and the task's row, which the same transaction changed, is what
// the program gets: one read, which it often shares with the operator's answer. No end is missed between the first read and the wait,
// even if a notification is lost.
import type { HintedWaits } from '../../../core/events/hinted-waits.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { isEndedStatus, type WholeTaskRow } from './task.ts'
import type { TaskStore } from './task-store.ts'

interface WaitedTask {
  /** Null: it has been deleted. */
  task: WholeTaskRow | null
  isOver: boolean
}

/** `wait` answers with the task once the job that it had has ended, or as it is when the time is up. */
export type TaskWaits = HintedWaits<WholeTaskRow, WaitedTask>

export const openTaskWaits = (ledger: Pick<Ledger, 'openEndWaits'>, tasks: Pick<TaskStore, 'find'>): TaskWaits =>
  ledger.openEndWaits<WholeTaskRow, WaitedTask>({
    jobIdOf: ({ job_id: jobId }) => jobId,
    async read({ uuid, job_id: jobId }) {
      const task = await tasks.find(uuid)
      // A replay of the job gives the task another: the one that was waited for has ended.
      return { task, isOver: task === null || isEndedStatus(task.status) || task.job_id !== jobId }
    },
    isFinal: ({ isOver }) => isOver,
  })
