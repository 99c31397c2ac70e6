// The list of tasks of the desk, as it is loaded and told of changes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { DeskTask } from '@reeve/sdk'
import { EMPTY, queueReducer, type QueueAction } from '../../console/src/routes/desk/queue/queue-state.ts'

const task = (id: number, more: Partial<DeskTask> = {}): DeskTask => ({
  id,
  uuid: `task ${id}`,
  url: 'https://shop.example/',
  domain: 'shop.example',
  status: 'pending',
  challenge_type: null,
  priority: 5,
  assigned_to: null,
  attempts: 0,
  has_solution: false,
  solver_expires_at: null,
  proxy_url: null,
  user_agent: null,
  last_error: null,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  expires_at: null,
  error_message: null,
  locked_until: null,
  preview_path: null,
  request_id: null,
  metadata: {},
  form: null,
  overdue_at: null,
  ...more,
})

const after = (...actions: QueueAction[]) => {
  const { rows, fresh } = actions.reduce(queueReducer, EMPTY)
  return { rows: rows.map(({ id }) => id), fresh: fresh.map(({ id }) => id) }
}
const loaded = (...tasks: DeskTask[]): QueueAction => ({ type: 'loaded', tasks, after: null, isFirst: true })
const changed = (id: number, isMatch: boolean): QueueAction => ({
  type: 'changed',
  task: task(id, { updated_at: '2026-01-01T00:00:01Z' }),
  isMatch,
})

describe('the queue of the desk, while an answer is under way', () => {
  const before = [{ type: 'loading' }, loaded(task(1), task(2)), { type: 'loading' }] as const

  test('offers a task that came back as new, although the answer is older and lacks it', () => {
    assert.deepEqual(after(...before, changed(1, true), loaded(task(2))), { rows: [2], fresh: [1] })
  })

  test('does not offer a task that the filter leaves out', () => {
    assert.deepEqual(after(...before, changed(1, false), loaded(task(2))), { rows: [2], fresh: [] })
    assert.deepEqual(after(...before, changed(3, false), loaded(task(2))), { rows: [2], fresh: [] })
  })

  test('goes by what was heard last', () => {
    assert.deepEqual(after(...before, changed(1, true), changed(1, false), loaded(task(2))).fresh, [])
    assert.deepEqual(after(...before, changed(1, false), changed(1, true), loaded(task(2))).fresh, [1])
  })
})
