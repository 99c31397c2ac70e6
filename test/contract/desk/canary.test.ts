// No cookie, token or solution in any log, event, metric or list reply, nor readable at rest: values that occur nowhere else
// are put into every place that a secret has, and looked for in all of them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { atEnd } from '../../support/cleanup.ts'
import { startRedis } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { inBothModes, staffed, type Mode } from './setup.ts'
import { ask, startSite } from './site.ts'

const TASKS = '/api/v1/captcha/tasks'

const canary = (name: string) => `canary-${name}-${randomBytes(8).toString('hex')}`
const CANARIES = Object.fromEntries(
  ['cookie', 'token', 'session', 'notes', 'answer', 'captured', 'proxy', 'late', 'wrong'].map((name) => [
    name,
    canary(name),
  ]),
)
const of = (name: string): string => CANARIES[name] ?? assert.fail(name)

inBothModes('desk 5.12: secrets stay where they belong', async (t, mode) => {
  const world = await busyDesk(t, mode)

  const places = await everythingThatIsShown(world)

  for (const [place, text] of Object.entries(places)) {
    for (const [name, value] of Object.entries(CANARIES)) {
      assert(!text.includes(value), `${name} is in ${place}`)
      assert(!text.includes(Buffer.from(value).toString('base64')), `${name} is in ${place}, in base64`)
    }
    assert(text.length > 0, `${place} is empty: nothing was looked at`)
  }
  const [, , , cookieTask] = world.uuids
  const { body } = await world.scraper.get(`${TASKS}/${cookieTask}`)
  assert.equal(body.solver_result.payload[0].value, of('cookie')) // it was there to be found
})

/** A desk at which everything that holds a secret has happened. */
async function busyDesk(t: TestContext, mode: Mode) {
  const redis = mode === 'Redis' ? await startRedis() : null
  if (redis !== null) atEnd(t, () => redis.stop())
  const heardOnRedis: string[] = []
  if (redis !== null) {
    const subscriber = new Redis(redis.at)
    atEnd(t, () => subscriber.disconnect())
    subscriber.on('pmessage', (_pattern, channel, message) => heardOnRedis.push(`${channel} ${message}`))
    await subscriber.psubscribe('*')
  }
  const site = await startSite(t, (_request, response) => {
    response
      .writeHead(200, { 'content-type': 'text/html', 'set-cookie': `seen=${of('captured')}; Path=/` })
      .end('<p>hello</p>')
  })
  const proxy = `http://user:${of('proxy')}@10.0.0.1:3128`
  const env = { CAPTCHA_PROXIES: proxy, ...(redis === null ? {} : { REDIS_URL: redis.at, CAPTCHA_REDIS_PREFIX: '' }) }
  const lines: string[] = []
  const desk = await staffed(t, { env, lines })
  const { operator, admin, scraper, create, assign, solve } = desk
  const heard = await desk.listen(operator)
  await admin.post('/api/v1/captcha/domains', { domain: site.domain, reason: 'a test' })

  const framed = await create({ url: `http://${site.domain}/` })
  await assign(framed.uuid)
  const { body: frame } = await operator.post(`${TASKS}/${framed.uuid}/frame`)
  await ask(desk.url, frame.url)
  await operator.get(`${TASKS}/${framed.uuid}/cookies`)

  const token = await create({ url: 'https://token.example/', proxy_url: proxy })
  const session = await create({ url: 'https://session.example/' })
  const cookie = await create({ url: 'https://cookie.example/' })
  const question = await create({ form: { question: 'Well?' } })
  await solve(token.uuid, operator, { type: 'token', payload: of('token'), notes: of('notes') })
  await solve(token.uuid, operator, { type: 'token', payload: of('late') })
  await solve(session.uuid, operator, { type: 'session', payload: { storage: of('session') } })
  await solve(cookie.uuid, operator, { payload: [{ name: 'a', value: of('cookie') }] })
  await solve(question.uuid, operator, { type: 'answer', payload: of('answer') })
  // What is refused is not echoed either, to whoever reads the log.
  await solve(framed.uuid, operator, { type: 'cookie', payload: [{ name: 'a b', value: of('wrong') }] })
  await solve(framed.uuid, operator, { type: 'magic', payload: of('wrong') })
  await operator.post(`${TASKS}/nonsense/solve`, { type: 'token', payload: of('wrong') })
  await admin.post(`${TASKS}/${token.uuid}/reveal`, { reason: 'a complaint' })
  await scraper.get('/api/v1/captcha/sessions/cookie.example', { prefer: 'wait=1' })
  await scraper.post(`${TASKS}/${session.uuid}/report-bad`, { reason: 'did not work' })
  await heard.untilType('session_expired')
  if (redis !== null)
    await until('Redis heard of it', () => heardOnRedis.some((line) => line.includes('session_expired')))
  const uuids: string[] = [framed.uuid, token.uuid, session.uuid, cookie.uuid, question.uuid]
  return { ...desk, heard, heardOnRedis, redis, uuids, lines }
}

async function everythingThatIsShown(world: Awaited<ReturnType<typeof busyDesk>>): Promise<Record<string, string>> {
  const { operator, admin, scraper, url, uuids, heard, heardOnRedis, lines, database, redis } = world
  const text = async (answer: Promise<{ body: unknown }>) => JSON.stringify((await answer).body)
  const places: Record<string, string> = {
    'the log': lines.join('\n'),
    'the events': JSON.stringify(heard.events),
    'the metrics': await (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text(),
    'the metrics in JSON': await (await fetch(`${url}/metrics`)).text(),
    'the list of tasks': await text(operator.get(`${TASKS}?limit=100`)),
    'the program’s list of tasks': await text(scraper.get(`${TASKS}?limit=100`)),
    'the pending tasks': await text(operator.get(`${TASKS}/pending`)),
    'the trail': await text(admin.get('/api/v1/captcha/audit?limit=500')),
    'the operators': await text(admin.get('/api/v1/captcha/operators')),
    'the jobs': await text(admin.get('/admin/jobs?limit=200')),
    'the status': await text(admin.get('/admin/status')),
  }
  for (const uuid of uuids) {
    places[`the operator’s view of ${uuid}`] = await text(operator.get(`${TASKS}/${uuid}`))
    places[`the job of ${uuid}`] = await text(admin.get(`/admin/jobs/${uuid}`))
  }
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  for (const { name } of tables) {
    const [row] = await database.query<{ all: string }>(
      `select coalesce(json_agg(row_to_json(x)), '[]')::text as all from ${name} x`,
    )
    places[`the table ${name}`] = row?.all ?? ''
  }
  if (redis === null) return places
  const client = new Redis(redis.at)
  const keys = await client.keys('captcha:*')
  const values = await Promise.all(
    keys.filter((key) => key.startsWith('captcha:session')).map((key) => client.get(key)),
  )
  client.disconnect()
  return { ...places, 'Redis’s channels': heardOnRedis.join('\n'), 'Redis’s keys': JSON.stringify([keys, values]) }
}
