// The desk's server, or PostgreSQL, is killed between each commit and its answer. People and programs ask again. Afterwards every task
// has ended, with one line about it in the audit trail and one event.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../support/until.ts'
import { setupCommits, VICTIMS, type CommitRig } from './commit-rig.ts'
import { FEEDS } from './rig.ts'

const TIMEOUT = { timeout: 400_000 }
const TASKS = '/api/v1/captcha/tasks'
const SETTINGS = { DOORS: 'desk', LOG_LEVEL: 'silent', CAPTCHA_TASK_TIMEOUT: '3600' }
const ENDS = `('solved', 'unsolvable', 'expired', 'cancelled')`

const WRONG = `
  select t.uuid, t.status, j.state,
         array(select action from captcha_audit a where a.uuid = t.uuid and action in ${ENDS} order by audit_id) as ends,
         array(select e.type from events e where e.payload->'payload'->>'uuid' = t.uuid::text
                  and e.type in ('task_solved', 'task_unsolvable', 'task_expired')) as told
    from captcha_task t join jobs j using (job_id)`

for (const [index, feed] of FEEDS.entries()) {
  describe(`the desk killed between commit and answer, with ${feed} as the feed`, () => {
    test('every task ends once, in the ledger, in the audit trail and for its subscribers', TIMEOUT, async (t) => {
      const rig = await setupCommits(t, {
        feed,
        tables: /^(jobs|captcha_task|captcha_audit|captcha_session)$/,
        settings: SETTINGS,
      })
      const people = {
        sid: await rig.token('sid', 'SCRAPER'),
        ann: await rig.token('ann', 'OPERATOR'),
        bob: await rig.token('bob', 'OPERATOR'),
        eve: await rig.token('eve', 'ADMIN'),
      }
      const ended = new Map<string, string>()

      const struck = await rig.atEveryCommit(VICTIMS[index] ?? 'the server', (round) =>
        endOneEach(rig, people, round, ended),
      )

      for (const strike of struck) t.diagnostic(strike)
      type Seen = { uuid: string; status: string; state: string; ends: string[]; told: string[] }
      const wrong = async () =>
        (await rig.database.query<Seen>(WRONG)).filter(
          ({ uuid, status, state, ends, told }) =>
            status !== STATUS_OF[ended.get(uuid) ?? ''] ||
            state !== (['solved', 'unsolvable'].includes(ended.get(uuid) ?? '') ? 'done' : 'dead') ||
            ends.join() !== ended.get(uuid) ||
            told.length !== 1,
        )
      await until('every task has ended once', async () => (await wrong()).length === 0, wrong)
      assert((await rig.database.query(WRONG)).length === ended.size)
      assert(struck.length >= 10, 'the scenario was struck only a few times')
    })
  })
}

const STATUS_OF: Record<string, string> = {
  solved: 'solved',
  unsolvable: 'unsolvable',
  expired: 'expired',
  cancelled: 'unsolvable',
}

type People = Record<'sid' | 'ann' | 'bob' | 'eve', string>

/** One task for each way in which a task ends. `ended` notes which way each must have gone. */
async function endOneEach(rig: CommitRig, people: People, round: number, ended: Map<string, string>): Promise<void> {
  const create = async (end: string): Promise<string> => {
    const key = { 'idempotency-key': `${end}-${round}` }
    const task = { url: `https://${end}${round}.example/` }
    const { status, body } = await rig.ask(people.sid, 'POST', TASKS, task, key)
    assert(status === 201 || status === 200, JSON.stringify(body))
    ended.set(body.uuid, end)
    return body.uuid
  }
  const act = (who: keyof People, uuid: string, what: string, body: object) =>
    rig.ask(people[who], 'POST', `${TASKS}/${uuid}/${what}`, body)
  const status = async (uuid: string) => (await rig.ask(people.sid, 'GET', `${TASKS}/${uuid}`)).body.status

  const solved = await create('solved')
  await act('ann', solved, 'assign', { operator_id: 'ann' })
  const answer = await act('ann', solved, 'solve', { type: 'cookie', payload: [{ name: 'a', value: '1' }] })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))

  const unsolvable = await create('unsolvable')
  await act('ann', unsolvable, 'assign', { operator_id: 'ann' })
  await act('ann', unsolvable, 'release', {})
  await act('bob', unsolvable, 'assign', { operator_id: 'bob' })
  await act('bob', unsolvable, 'mark-unsolvable', { reason: 'no way in' })

  const cancelled = await create('cancelled')
  await rig.ask(people.eve, 'POST', `/admin/jobs/${cancelled}/cancel`, { reason: 'not wanted' })

  const expired = await create('expired')
  const age = `update captcha_task set unclaimed_since = clock_timestamp() - interval '2 hours' where uuid = $1 and ended_at is null`
  await until('it has expired', async () => {
    await rig.database.query(age, [expired]).catch(() => {}) // PostgreSQL may be away
    return (await status(expired)) === 'expired'
  })
  assert.deepEqual(
    [await status(solved), await status(unsolvable), await status(cancelled)],
    ['solved', 'unsolvable', 'unsolvable'],
  )
}
