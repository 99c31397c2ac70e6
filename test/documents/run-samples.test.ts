// Every sample of a document does what the text around it says, as it is printed. `…` stands for a password there. A sample that cannot be
// run says why, in a comment before it.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cannotTest } from '../judge/rig.ts'
import { newAccount } from '../support/reeve.ts'
import { until } from '../support/until.ts'
import { GUIDES } from './samples.ts'
import { openSampleShell } from './sample-shell.ts'

const ADMIN_PASSWORD = 'a-long-password'

test('the samples of the documents', { timeout: 240_000 }, async (t) => {
  const samples = await openSampleShell(t, (page) => !page.startsWith(GUIDES))
  const { url, take, shell, program } = samples
  const apiKeyOf = async (username: string, role: string): Promise<string> => {
    const { token } = await newAccount(url, username, [role])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}/auth/api-keys`, { method: 'POST', headers, body: '{"name":"sample"}' })
    return JSON.parse(await answer.text()).api_key
  }

  // The server of all others: it loads the plug-in, and is started as the challenge door's page says.
  const plugIn = take('docs/challenge.md', 'export const solvers')
  writeFileSync(join(samples.folder, 'vowels.mjs'), plugIn)
  const server = shell(`export SOLVER_PLUGINS=$PWD/vowels.mjs\n${take('docs/challenge.md', 'SHARED_SECRET_KEY=')}`)
  await server.saysAtLast(/ready at http/)

  await t.test('docs/challenge.md', async () => {
    await shell(take('docs/challenge.md', 'challenge show c1')).ended()
    const shown = () => shell('npx reeve challenge show c1 --as admin').ended()
    await until('it is completed, and correct', async () => /"is_correct":\s*true/.test(await shown()))
    const signed = await shell(take('docs/challenge.md', 'openssl dgst')).ended()
    assert.match(signed, /"solver_job_id":"solver_job_c2"/)

    const solver = shell(take('docs/challenge.md', 'node examples/solver.js'))
    await solver.saysAtLast(/listening on/)
    await shell(take('docs/challenge.md', 'challenge send c3')).ended()
    const third = () => shell('npx reeve challenge show c3 --as admin').ended()
    await until('the Solver has answered', async () => /"is_correct":\s*true/.test(await third()))

    const vowels = { challenge_id: 'v1', problem: { type: 'vowels', text: 'education' }, answer: '5' }
    const asked = JSON.stringify({ ...vowels, validation_rule: { type: 'ExactMatch' } })
    await shell(
      `echo '${asked}' | npx reeve challenge create - --as admin; npx reeve challenge send v1 --as admin`,
    ).ended()
    const fourth = () => shell('npx reeve challenge show v1 --as admin').ended()
    await until('the plug-in has solved it', async () => /"is_correct":\s*true/.test(await fourth()))
  })

  await t.test('README.md', async () => {
    const said = await shell(take('README.md', '/admin/jobs'), { '…': ADMIN_PASSWORD }).ended()
    assert.match(said, /"state":"done"/)
    assert.match(said, /"hello":\s*"world"/)
  })

  await t.test('docs/judge.md', { skip: cannotTest }, async () => {
    assert.match(await shell(take('docs/judge.md', 'reeve submit sum.py')).ended(), /Accepted/)
  })

  await t.test('docs/pool.md', async () => {
    const words = { '…': ADMIN_PASSWORD, 'worker run': 'worker run --json' }
    const worker = shell(take('docs/pool.md', 'worker keygen'), words)
    await worker.saysAtLast(/polling/)
    const answer = await shell(`REEVE=${url}\n${take('docs/pool.md', '/v1/jobs')}`, words).ended()
    assert.match(answer, /"answer":\s*"HELLO"/)
  })

  await t.test('docs/desk.md', async () => {
    const said = await shell(take('docs/desk.md', 'desk allow shop.org')).ended()
    const [program, ann] = [...said.matchAll(/shown this once: (\S+)/g)].map((match) => match[1] ?? '')
    const words = { 'login program …': `login program ${program}`, 'login ann …': `login ann ${ann}` }
    const solved = await shell(take('docs/desk.md', 'cf_clearance'), words).ended()
    assert.match(solved, /"value":"abc123"/)
    take('docs/desk.md', 'createTaskAndWait') // run by test/contract/desk/sdk.test.ts
  })

  await t.test('sdk/README.md', async () => {
    const login = `process.env.PASSWORD = '${ADMIN_PASSWORD}'`
    assert.match(await program(take('sdk/README.md', 'jobs.submit'), login).ended(), /done \{ hello: 'world' \}/)

    const arena = take('sdk/README.md', 'ArenaClient.login')
    const players = ['ann-plays', 'bob-plays'].map((name) =>
      program(arena, '', { "'ann'": `'${name}'`, '…': ADMIN_PASSWORD }),
    )
    const ends = await Promise.all(players.map((player) => player.ended()))
    for (const end of ends) assert.match(end, /reason: 'completed'/)

    const loggedIn = `
      import { ArenaClient } from '@reeve/sdk/arena'
      import { WebSocket } from 'ws'
      const arena = await ArenaClient.login({ url: '${url}', username: 'ann-plays', password: '${ADMIN_PASSWORD}', WebSocket })
      const id = (await arena.matches()).matches[0].matchId`
    const replay = take('docs/arena.md', 'replayInputs').replace(/^(replayInputs\(.*\)).*$/m, 'console.log($1)')
    assert.match(await program(replay, loggedIn).ended(), /positions: /)

    const worker = take('sdk/README.md', 'runWorker')
    const start = async (name: string) =>
      program(worker, given(url, await apiKeyOf(name, 'WORKER_OWNER')), { "'w1'": `'${name}'` })
    const workers = await Promise.all(['one', 'two', 'three'].map(start))
    const submit = take('sdk/README.md', 'reeve.pool.submit')
    const client = `${given(url, await apiKeyOf('client', 'CLIENT'))}
      import { ReeveClient } from '@reeve/sdk'
      const reeve = new ReeveClient({ url, apiKey })`
    const said = await program(`${submit}\nconsole.log(job.status)`, client).ended()
    assert.match(said, /completed/, workers.map((one) => one.said()).join('\n'))
  })

  assert.deepEqual(samples.left(), [], 'run it here, or mark it with <!-- no-run: reason -->')
})

const given = (url: string, apiKey: string) => `const url = '${url}', apiKey = '${apiKey}'`
