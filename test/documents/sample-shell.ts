// Where samples are run as they are printed: a folder, a shell in which `npm start` and `npx reeve` are those of this tree, and a port in place
// of 8080. A sample that was run is taken from the list; what is left at the end was not run.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { transformSync } from 'esbuild'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { judgeCache } from '../support/judge-cache.ts'
import { REEVE, ROOT } from '../support/program.ts'
import { knowServer, urlOf } from '../support/reeve.ts'
import { freePort, temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { readSamples } from './samples.ts'

const PROGRAMS = resolve('build/samples/run') // below the repository, where the packages are found

export interface RunningSample {
  /** So far. */
  said(): string
  saysAtLast(what: RegExp): Promise<void>
  /** Expects it to end well. */
  ended(): Promise<string>
}

/** Runs what is printed, with these words in place of those on the left. */
export type Replaced = Readonly<Record<string, string>>

/** `isAsked`: of the pages whose samples are to be run. */
export async function openSampleShell(t: TestContext, isAsked: (page: string) => boolean) {
  const left = readSamples().filter(
    ({ at: place, language, notRun }) => isAsked(place) && ['sh', 'ts', 'js'].includes(language) && notRun === null,
  )
  const at = await reusedDatabase(t, migrationFolders())
  const folder = await temporaryFolder(t)
  const [port, solverPort] = [String(await freePort()), String(await freePort())]
  const url = `http://127.0.0.1:${port}`
  const { PATH = '', TMPDIR = '' } = process.env
  const env = {
    PATH: `${join(folder, 'bin')}:${PATH}`,
    HOME: folder,
    ...(TMPDIR === '' ? {} : { TMPDIR }),
    DATABASE_URL: urlOf(at),
    REEVE_DATA_DIR: join(folder, 'data'),
    JUDGE_CACHE_DIR: await judgeCache(),
    SERVER_PORT: port,
  }
  const started: SpawnOptions = { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }
  writeCommands(join(folder, 'bin'), url)
  symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'))
  knowServer(t, url, at)

  const take = (page: string, words: string): string => {
    const index = left.findIndex(({ at: place, text }) => place.startsWith(`${page}:`) && text.includes(words))
    const [sample] = index === -1 ? [] : left.splice(index, 1)
    assert(sample !== undefined, `${page} has no such sample: ${words}`)
    return sample.text
  }
  const here = (text: string, replaced: Replaced): string =>
    Object.entries({ ...replaced, ':8080': `:${port}`, '9000': solverPort }).reduce(
      (all, [printed, used]) => all.replaceAll(printed, used),
      text,
    )
  return {
    url,
    folder,
    at,
    env,
    left: () => left.map(({ at: place }) => place),
    take,
    /** The first that is left. */
    next: (): string => {
      const [sample] = left.splice(0, 1)
      assert(sample !== undefined, 'there is no further sample')
      return sample.text
    },
    shell: (text: string, replaced: Replaced = {}): RunningSample =>
      watch(t, spawn('bash', ['-euo', 'pipefail', '-c', here(text, replaced)], started)),
    /** A program with `given` before it: what the text of its page has introduced. */
    program(text: string, given = '', replaced: Replaced = {}): RunningSample {
      const { code } = transformSync(`${given}\n${here(text, replaced)}`, { loader: 'ts', format: 'esm' })
      mkdirSync(PROGRAMS, { recursive: true })
      const file = join(PROGRAMS, `${process.pid}-${(programs += 1)}.mjs`)
      writeFileSync(file, code)
      atEnd(t, () => rmSync(file))
      return watch(t, spawn(process.execPath, [file], started))
    },
  }
}
let programs = 0

/** `npm start` where a server runs already is the other terminal's. What `npm ci` installs is installed. */
function writeCommands(bin: string, url: string): void {
  mkdirSync(bin)
  const node = [process.execPath, ...REEVE].map((word) => `'${word}'`).join(' ')
  const npm = `#!/bin/sh\n[ "$1" = ci ] && exit 0\n[ "$1" = start ] || exit 64\ncurl -sf ${url}/healthz > /dev/null && exit 0\ncd ${ROOT} && exec ${node} up\n`
  const npx = `#!/bin/sh\n[ "$1" = reeve ] || exit 64\nshift\ncase "$1 $2" in "worker register"|"worker run") exec ${node} "$@" --url ${url};; *) exec ${node} "$@";; esac\n`
  writeFileSync(join(bin, 'npm'), npm, { mode: 0o755 })
  writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 })
}

function watch(t: TestContext, child: ChildProcess): RunningSample {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (said += text))
  const exited = new Promise<number | null>((done) => child.once('close', done))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  atEnd(t, async () => {
    if (child.pid !== undefined && !isOver()) process.kill(-child.pid, 'SIGTERM')
    await exited
  })
  return {
    said: () => said,
    async saysAtLast(what) {
      await until(
        `it says ${what}`,
        () => what.test(said) || isOver(),
        () => said,
      )
      assert.match(said, what)
    },
    async ended() {
      assert.equal(await exited, 0, said)
      return said
    },
  }
}
