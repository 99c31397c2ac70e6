// General tasks, previews, the list of domains, the trail and the numbers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBothModes, PNG, staffed } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'
inBothModes('desk 7.1: any question can have a small form, and the answer must fit it', async (t, mode) => {
  const { create, operator, scraper } = await staffed(t, { mode })
  const form = {
    question: 'What is on the picture?',
    fields: [
      { type: 'image', name: 'picture', image: PNG.toString('base64') },
      { type: 'choice', name: 'animal', options: ['cat', 'dog'] },
      { type: 'choice', name: 'colours', options: ['red', 'green', 'blue'], multiple: true },
      { type: 'text', name: 'count', max_length: 3, digits_only: true },
    ],
  }
  const { uuid, domain } = await create({ url: undefined, challenge_type: 'survey', form })
  const solve = (payload: unknown, type = 'answer') => operator.post(`${TASKS}/${uuid}/solve`, { type, payload })

  const wrong: unknown[] = [
    'cat',
    {},
    { animal: 'cow', colours: [], count: '1' },
    { animal: 'cat', colours: 'red', count: '1' },
    { animal: 'cat', colours: ['red', 'red'], count: '1' },
    { animal: 'cat', colours: ['pink'], count: '1' },
    { animal: 'cat', colours: [], count: '1234' },
    { animal: 'cat', colours: [], count: 'two' },
    { animal: 'cat', colours: [], count: 1 },
    { animal: 'cat', colours: [], count: '1', more: 'x' },
  ]
  for (const payload of wrong) assert.equal((await solve(payload)).status, 422, JSON.stringify(payload))
  assert.equal((await solve('tok', 'token')).status, 422)
  const seen = await operator.get(`${TASKS}/${uuid}`)
  const listed = await operator.get(TASKS)
  const solved = await solve({ animal: 'cat', colours: ['red', 'blue'], count: '12' })
  const { body } = await scraper.get(`${TASKS}/${uuid}`)

  assert.equal(domain, 'question.example')
  assert.equal(seen.body.form.fields[0].image, `data:image/png;base64,${PNG.toString('base64')}`)
  assert(!JSON.stringify(listed.body).includes(PNG.toString('base64')))
  assert.deepEqual([solved.status, solved.body.session_cached], [200, false])
  assert.deepEqual(body.solver_result.payload, { animal: 'cat', colours: ['red', 'blue'], count: '12' })
})

test('desk 7.2: a question without fields is answered with a text, and each one is new work', async (t) => {
  const { create, operator, scraper } = await staffed(t)
  const form = { question: 'Which month?' }
  const [one, two] = [await create({ form }), await create({ form })]

  const solved = await operator.post(`${TASKS}/${one.uuid}/solve`, { type: 'answer', payload: 'May' })

  assert.notEqual(one.uuid, two.uuid)
  assert.equal(solved.status, 200)
  assert.deepEqual((await scraper.get(`${TASKS}/${one.uuid}`)).body.solver_result.payload, { answer: 'May' })
})

inBothModes(
  'desk 3.8: a preview is a picture of the open task of its creator, and nothing but a picture',
  async (t, mode) => {
    const { create, solve, scraper, operator, account, admin } = await staffed(t, { mode })
    const rival = await account('sue', 'SCRAPER')
    const { uuid } = await create()
    const path = `${TASKS}/${uuid}/preview`

    const none = await operator.get(path)
    const foreign = await rival.put(path, PNG, 'image/png')
    const script = await scraper.put(path, Buffer.from('<script>alert(1)</script>'), 'image/png')
    const html = await scraper.put(path, PNG, 'text/html')
    const large = await scraper.put(path, Buffer.concat([PNG, Buffer.alloc(2 * 1024 * 1024)]), 'image/png')
    const stored = await scraper.put(path, PNG, 'image/jpeg')
    const shown = await operator.get(path)
    const { body } = await operator.get(`${TASKS}/${uuid}`)
    await solve(uuid)
    const late = await scraper.put(path, PNG, 'image/png')

    assert.deepEqual([none.status, foreign.status, script.status, html.status, large.status], [404, 404, 415, 415, 413])
    assert.deepEqual(stored.body, { preview_path: path, bytes: PNG.length })
    assert.equal(body.preview_path, path)
    assert.deepEqual([shown.status, shown.headers.get('content-type')], [200, 'image/png'])
    assert.deepEqual(shown.body, PNG)
    assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/)
    assert.equal(shown.headers.get('x-content-type-options'), 'nosniff')
    assert.deepEqual([late.status, (await rival.get(path)).status, (await admin.get(path)).status], [409, 404, 200])
    const { body: trail } = await admin.get(`/api/v1/captcha/audit?uuid=${uuid}&action=seen`)
    assert.deepEqual(
      trail.entries.map((line: { actor: string }) => line.actor),
      ['eve', 'ann'],
    )
  },
)

test('desk 3.8: CAPTCHA_PREVIEW_ENABLED=false refuses previews', async (t) => {
  const { create, scraper } = await staffed(t, { env: { CAPTCHA_PREVIEW_ENABLED: 'false' } })
  const { uuid } = await create()

  assert.equal((await scraper.put(`${TASKS}/${uuid}/preview`, PNG, 'image/png')).status, 403)
})

inBothModes('desk 2.3: it is recorded who allowed or removed a domain, why and when', async (t, mode) => {
  const { admin, operator, scraper } = await staffed(t, { mode })
  const path = '/api/v1/captcha/domains'

  const added = await admin.post(path, { domain: 'Bücher.org:8443', reason: 'we run it' })
  const listed = await operator.get(path)
  for (const domain of ['*', '*.org', '*.', 'https://shop.org', 'shop.org/x', 'a b', ''])
    assert.equal((await admin.post(path, { domain, reason: 'x' })).status, 422, domain)
  assert.equal((await admin.post(path, { domain: 'shop.org' })).status, 422)
  const removed = await admin.delete(`${path}/xn--bcher-kva.org:8443`)
  const again = await admin.delete(`${path}/xn--bcher-kva.org:8443`)
  const trail = await admin.get('/api/v1/captcha/audit')

  const { added_at: at, ...entry } = added.body
  assert.deepEqual(
    [added.status, entry],
    [201, { domain: 'xn--bcher-kva.org:8443', reason: 'we run it', added_by: 'eve' }],
  )
  assert(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.deepEqual(listed.body.domains, [added.body])
  assert.deepEqual([removed.status, again.status], [200, 404])
  assert.deepEqual((await scraper.get(path)).body.domains, [])
  assert.deepEqual(
    trail.body.entries.map((line: Record<string, unknown>) => [
      line['action'],
      line['actor'],
      line['domain'],
      line['detail'],
    ]),
    [
      ['domain_removed', 'eve', 'xn--bcher-kva.org:8443', 'we run it'],
      ['domain_allowed', 'eve', 'xn--bcher-kva.org:8443', 'we run it'],
    ],
  )
})

inBothModes(
  'desk 13.1: audit and operators show who saw, claimed, released and solved what, and how long it took',
  async (t, mode) => {
    const { create, assign, solve, operator, other, admin, database } = await staffed(t, { mode })
    const { uuid } = await create()
    await operator.get(`${TASKS}/${uuid}`)
    await operator.get(`${TASKS}/${uuid}`)
    await admin.get(`${TASKS}/${uuid}`)
    await assign(uuid, other)
    await other.post(`${TASKS}/${uuid}/release`)
    await assign(uuid)
    await solve(uuid)

    const all = await admin.get(`/api/v1/captcha/audit?uuid=${uuid}`)
    const page = await admin.get(`/api/v1/captcha/audit?uuid=${uuid}&limit=2`)
    const next = await admin.get(`/api/v1/captcha/audit?uuid=${uuid}&limit=2&before=${page.body.next_before}`)
    const { body } = await admin.get('/api/v1/captcha/operators?hours=1')

    const steps = all.body.entries
      .toReversed()
      .map((line: { actor: string; action: string }) => `${line.actor} ${line.action}`)
    assert.deepEqual(steps, [
      'sid created',
      'ann seen',
      'eve seen',
      'bob claimed',
      'bob released',
      'ann claimed',
      'ann solved',
    ])
    assert.deepEqual(
      [...page.body.entries, ...next.body.entries].map((line: { audit_id: number }) => line.audit_id),
      all.body.entries.slice(0, 4).map((line: { audit_id: number }) => line.audit_id),
    )
    const [ann, bob] = body.operators
    assert.deepEqual([ann.operator, ann.claimed, ann.solved, ann.released], ['ann', 1, 1, 0])
    assert.deepEqual([bob.operator, bob.claimed, bob.solved, bob.released], ['bob', 1, 0, 1])
    for (const ms of [ann.claim_ms_p50, ann.claim_ms_p95, ann.solve_ms_p50, bob.claim_ms_p50])
      assert(ms >= 0 && ms < 60_000, `${ms}`)
    assert.equal(bob.solve_ms_p50, null)
    await database.query(`update captcha_audit set waited_ms = 5e9, held_ms = 5e9`)
    const { body: slow } = await admin.get('/api/v1/captcha/operators')
    assert.deepEqual([slow.operators[0].claim_ms_p50, slow.operators[0].solve_ms_p95], [5e9, 5e9])
  },
)
