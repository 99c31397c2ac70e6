// Where submissions are measured: a server as `reeve up` starts it, a problem of ten tests, and submitters.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ReeveClient } from '@reeve/sdk'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { startReeve } from '../servers/reeve.ts'
import type { Teardown } from '../teardown.ts'
import { openSubmitter, type Submitter } from './submitters.ts'
import { AT_ONCE } from './report.ts'
import { TESTS } from './ways.ts'

export const PROBLEM = 'ten-tests'
const ADMIN = { username: 'bench', password: 'bench password' }
const BOX_SECONDS = /^judge_box_seconds_total (\S+)$/m

interface Login {
  access_token: string
}

export interface Field {
  url: string
  submitters: readonly Submitter[]
  slots: number
  /** The number of the next submission. */
  next(): number
}

export async function openField(dataDir: string, folder: string, teardown: Teardown): Promise<Field> {
  const slots = availableParallelism()
  const env = {
    DOORS: 'judge',
    JUDGE_SLOTS: String(slots),
    JUDGE_SAMPLE_PROBLEMS: 'false',
    SUBMIT_RATE_LIMIT_MAX: '1000000',
    REEVE_ADMIN_USERNAME: ADMIN.username,
    REEVE_ADMIN_PASSWORD: ADMIN.password,
  }
  const { url } = await startReeve({ dataDir, env }, teardown)
  const { access_token: token } = await new ReeveClient({ url }).request<Login>('POST', '/auth/login', { body: ADMIN })
  const reeve = new ReeveClient({ url, token })
  await reeve.judge.putProblem(PROBLEM, await packageBytes(folder))
  const submitters: Submitter[] = []
  for (let n = 0; n < AT_ONCE; n += 1) submitters.push(await openSubmitter(url, token, teardown))
  let number = 0
  return { url, submitters, slots, next: () => (number += 1) }
}

async function packageBytes(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const own = join(folder, PROBLEM)
  await mkdir(join(own, 'data', 'secret'), { recursive: true })
  await writeFile(join(own, 'problem.yaml'), 'name: Ten tests\nlimits: {time_limit: 2, memory: 256}\n')
  for (let n = 1; n <= TESTS; n += 1) {
    await writeFile(join(own, 'data', 'secret', `${n}.in`), `${n}\n`)
    await writeFile(join(own, 'data', 'secret', `${n}.ans`), `${2 * n}\n`)
  }
  const zip = join(folder, `${PROBLEM}.zip`)
  await zipFolder(own, zip)
  return new Uint8Array(await readFile(zip))
}

/** For how long boxes have been open so far, all slots together. */
export async function boxSecondsOf({ url }: Field): Promise<number> {
  const text = await (await fetch(`${url}/metrics/prometheus`)).text()
  return Number(BOX_SECONDS.exec(text)?.[1] ?? NaN)
}
