// The whole server as a user starts it, on an embedded database in a folder that goes away with the test.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { untilNoProcess } from '../embedded/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import type { Exit } from './peer.ts'
import { REEVE, ROOT } from '../support/program.ts'

const PASSWORD = 'nine-brown-hens'
const SETTINGS = {
  SERVER_PORT: '0',
  LOG_LEVEL: 'warn',
  REEVE_ADMIN_USERNAME: 'admin',
  REEVE_ADMIN_PASSWORD: PASSWORD,
  JOB_LEASE_SEC: '3',
  JOB_HEARTBEAT_SEC: '1',
  JOB_RECLAIM_INTERVAL_SEC: '1',
  ...(process.env['REEVE_TEST_JUDGE'] === undefined ? {} : { JUDGE_CACHE_DIR: process.env['REEVE_TEST_JUDGE'] }),
}

export interface JobSeen {
  state: string
  attempt_id: number
  result: unknown
  history: { what: string }[]
}

export interface Reeve {
  pid: number
  exited: Promise<Exit>
  /** What it has said to people, so far. */
  said(): string
  /** To the process, or to all of its group, as Ctrl-C in a terminal does. */
  signal(signal: NodeJS.Signals, to?: 'process' | 'group'): void
  ready(): Promise<Client>
}

export interface Client {
  url: string
  submit(payload: object): Promise<string>
  job(jobId: string, waitSec?: number): Promise<JobSeen>
}

/** Gone with the test, and with it every process that has to do with it. */
export async function dataFolder(t: TestContext): Promise<string> {
  const folder = await temporaryFolder()
  atEnd(t, async () => {
    await untilNoProcess(folder)
    await rm(folder, { recursive: true, force: true })
  })
  return `${folder}/data`
}

export function spawnReeve(
  t: TestContext,
  dataDir: string,
  settings: Record<string, string> = {},
  command: 'up' | 'serve' | 'work' = 'up',
): Reeve {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...REEVE, command], {
    cwd: ROOT,
    detached: true,
    env: { PATH, HOME, ...SETTINGS, REEVE_DATA_DIR: dataDir, ...settings },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  const { pid } = child
  assert(pid !== undefined)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
  const isAlive = () => child.exitCode === null && child.signalCode === null
  const signal: Reeve['signal'] = (name, to = 'process') => {
    if (isAlive()) process.kill(to === 'group' ? -pid : pid, name)
  }
  atEnd(t, async () => {
    signal('SIGKILL', 'group')
    await exited
  })
  return {
    pid,
    exited,
    said: () => said,
    signal,
    async ready() {
      await until(
        'Reeve is ready',
        () => /ready at (\S+)/.test(said) || !isAlive(),
        () => said,
      )
      const url = /ready at (\S+)/.exec(said)?.[1]
      assert(url !== undefined, `it ended: ${said}`)
      return clientOf(url)
    },
  }
}

function clientOf(url: string): Client {
  const send = async <Body>(path: string, init: RequestInit): Promise<{ status: number; body: Body }> => {
    const headers = { 'content-type': 'application/json', ...init.headers }
    const response = await fetch(`${url}${path}`, { ...init, headers })
    return { status: response.status, body: JSON.parse(await response.text()) }
  }
  const logIn = async () => {
    const credentials = JSON.stringify({ username: 'admin', password: PASSWORD })
    const login = await send<{ access_token: string }>('/auth/login', { method: 'POST', body: credentials })
    assert.equal(login.status, 200)
    return { authorization: `Bearer ${login.body.access_token}` }
  }
  let loggedIn: ReturnType<typeof logIn> | null = null // many tests only want to know that it is ready
  const headersOf = () => (loggedIn ??= logIn())

  return {
    url,
    async submit(payload) {
      const body = JSON.stringify({ kind: 'echo', payload })
      const headers = await headersOf()
      const accepted = await send<{ job_id: string }>('/admin/jobs', { method: 'POST', headers, body })
      assert.equal(accepted.status, 202)
      return accepted.body.job_id
    },
    async job(jobId, waitSec = 0) {
      const prefer = waitSec === 0 ? {} : { prefer: `wait=${waitSec}` }
      const seen = await send<JobSeen>(`/admin/jobs/${jobId}`, {
        headers: { ...(await headersOf()), ...prefer },
      })
      assert.equal(seen.status, 200)
      return seen.body
    },
  }
}
