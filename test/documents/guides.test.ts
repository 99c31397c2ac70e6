// Every guide is followed as a reader would: from nothing, sample by sample in the order of the page, on a server of its own. The first sample starts it, the
// same in all of them; where nothing depends on how, a server in this process runs already, which takes a tenth of the time.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { cannotTest } from '../judge/rig.ts'
import { ADMIN, startReeve } from '../support/reeve.ts'
import { until } from '../support/until.ts'
import { openSampleShell, type Replaced } from './sample-shell.ts'
import { GUIDES } from './samples.ts'

type Guide = Awaited<ReturnType<typeof openGuide>>

/** What each sample after the first says, in the order of the page. */
const FOLLOWED: Readonly<Record<string, (guide: Guide) => Promise<void>>> = {
  'teacher.md': async ({ says, leave }) => {
    await says(/ann@school\.example .*https?:/)
    await says(/^https?:\/\/\S+$/m)
    await says(/sums/)
    if (cannotTest === false) await says(/^Accepted /m)
    else leave()
    await says(/bob@school\.example is deleted/)
    await says(/Logged in[^]*sums/)
  },
  'backend-developer.md': async ({ says, starts, prints }) => {
    await says(/done[^]*echo/)
    await says(/shop .*CLIENT/)
    await starts(/polling/, { 'worker run': 'worker run --json' })
    await prints(/^true\ncompleted \{ total: 17 \}$/m)
    await says(/exit code 3[^]*out of stock[^]* → /)
  },
  'pool-owner.md': async ({ says, starts, shows }) => {
    await says(/carl .*CLIENT/)
    await says(/^/)
    await says(/sha256 [0-9a-f]{64}[^]*^1$/m)
    await starts(/polling/, { 'mjs run': 'mjs run --json' })
    await says(/"answer":\s*"HELLO"/)
    // It follows the result.
    await shows('curl -s http://127.0.0.1:8080/workers/1/receipts -H "X-API-Key: $(cat api.key)"', /"signature"/)
    await says(/attic[^]*The receipt verifies/)
  },
  'desk-lead.md': async ({ says }) => {
    await says(/shop\.org .*ticket 12/)
    await says(/robot .*SCRAPER/)
    await says(/^/)
    await says(/"lock_expires_at"[^]*"success":true/)
    await says(/solved .*shop\.org/)
  },
  'game-developer.md': async ({ says, prints }) => {
    await says(/2 games played\./)
    await prints(/reason: 'completed'[^]*^1$/m)
    await says(/"success":true/)
  },
  'operator.md': async ({ says }) => {
    await says(/database[^]*SERVER_PORT[^]*"ok"/)
    await says(/verified/i)
    await says(/^reeve_database_connections/m)
    await says(/https?:[^]*ann is deleted/)
    await says(/Nothing to do/)
  },
  'webhook-integrator.md': async ({ says, runs, shows }) => {
    await says(/"secret":/)
    const receiver = runs()
    await receiver.saysAtLast(/listening/)
    await says(/cancelled/)
    await shows('npx reeve delivery list', /dead/) // it is called back after the cancel is answered
    await says(/dead[^]*400/)
    await says(/1 replayed/)
    await receiver.saysAtLast(/^new .*cancelled/m)
    await says(/verifies/)
  },
}

/** Guides that need the judge, settings of their own, or nothing but what the sample starts. */
const STARTED = ['teacher.md', 'operator.md', 'webhook-integrator.md']

const pages = readdirSync(GUIDES).filter((name) => name !== 'README.md')

test('there are seven guides, and each shows at least one picture', () => {
  assert.deepEqual(pages.toSorted(), Object.keys(FOLLOWED).toSorted())
  for (const page of pages) assert.match(readFileSync(`${GUIDES}${page}`, 'utf8'), /^!\[.+\]\(\.\.\/pictures\//m, page)
})

for (const [page, follow] of Object.entries(FOLLOWED)) {
  test(`the guide ${page}`, { timeout: 240_000 }, async (t) => {
    const guide = await openGuide(t, page)
    await follow(guide)
    assert.deepEqual(guide.notRun(), [], 'run it here, or mark it with <!-- no-run: reason -->')
  })
}

async function openGuide(t: TestContext, page: string) {
  const samples = await openSampleShell(t, (place) => place.startsWith(GUIDES + page))
  const password = STARTED.includes(page) ? await startAsPrinted(samples) : await startHere(t, samples)
  // The reader types the password where there is a terminal.
  const typed = { '--username admin\n': `--username admin --password-stdin <<< '${password}'\n` }
  const run = (replaced: Replaced) => samples.shell(samples.next(), { ...typed, ...replaced })

  return {
    /** A sample that ends. */
    says: async (what: RegExp, replaced: Replaced = {}) => assert.match(await run(replaced).ended(), what),
    /** A sample that goes on. */
    starts: async (what: RegExp, replaced: Replaced = {}) => run(replaced).saysAtLast(what),
    /** A command that is repeated until it says so: for what happens by itself. */
    shows: (command: string, what: RegExp) =>
      until(`${command} says ${what}`, async () => what.test(await samples.shell(command).ended())),
    /** A program that ends. */
    prints: async (what: RegExp) => assert.match(await samples.program(samples.next()).ended(), what),
    /** A program that goes on. */
    runs: () => samples.program(samples.next()),
    /** A sample that cannot be run on this machine. */
    leave: () => void samples.next(),
    notRun: samples.left,
  }
}

type SampleShell = Awaited<ReturnType<typeof openSampleShell>>

/** Resolves to the password that it prints. */
async function startAsPrinted({ shell, next }: SampleShell): Promise<string> {
  const server = shell(next())
  await server.saysAtLast(/with the password \S+/)
  return /with the password (\S+)/.exec(server.said())?.[1] ?? ''
}

async function startHere(t: TestContext, { shell, next, at, env }: SampleShell): Promise<string> {
  await startReeve(t, { on: at, doors: 'challenge,pool,desk,arena', dataDir: env.REEVE_DATA_DIR, env })
  await shell(next()).ended()
  return ADMIN.password
}
