// PostgreSQL refuses to run as root. Root therefore starts it in a user namespace, where root's own files belong to an
// ordinary user; where namespaces are forbidden, as in most containers, it runs as another user of the machine, who
// must be able to enter the folders above the data folder and above the programs. Each way is tried before it is chosen.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { letThrough, type Owner, ownerOf } from './ownership.ts'
import { StartError } from '../start-error.ts'

const TRIAL_MS_MAX = 10_000
const PREFERRED_USERS = ['postgres', 'nobody']

/** Enter the data folder, have a name (initdb asks for it), run the program. */
const TRIAL = 'cd "$1" && id -un && exec "$2" --version'

/** The server needs nothing of this process's environment, which holds secrets. */
export const CHILD_ENV = { PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }

export interface RunAs {
  name: string
  /** Words before the command. */
  prefix: readonly string[]
  /** Who the process is, seen from outside a namespace: the owner of the cluster's files. */
  owner: Owner
}

/** How to run the server on this machine, or one sentence on why there is no way. */
export async function chooseRunAs(place: { dataDir: string; cluster: string; postgres: string }): Promise<RunAs> {
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  if (self.uid !== 0) return { name: 'this user', prefix: [], owner: self }

  const current = (await ownerOf(place.cluster)) ?? (await ownerOf(place.dataDir))
  const refusals: string[] = []
  for (const candidate of await candidates(self, current)) {
    const refusal = await tryOut(candidate, place)
    if (refusal === null) return candidate
    refusals.push(`${candidate.name}: ${refusal}`)
  }
  throw new StartError(
    `PostgreSQL does not run as root, and no other way works here (${refusals.join('; ')}):` +
      ' start Reeve as an ordinary user, or set DATABASE_URL to a PostgreSQL server, version 15 or later.',
  )
}

/** In order of preference. Files that belong to an ordinary user stay with that user. */
async function candidates(root: Owner, current: Owner | null): Promise<RunAs[]> {
  const users = await readUsers()
  const keep = current === null || current.uid === 0 ? [] : [asUser(String(current.uid), current)]
  const namespace = users.slice(0, 1).map(({ uid, gid }) => ({
    name: 'a user namespace',
    prefix: ['unshare', '--user', `--map-user=${uid}`, `--map-group=${gid}`, '--'],
    owner: root,
  }))
  const others = users.filter(({ name }) => PREFERRED_USERS.includes(name)).map((user) => asUser(user.name, user))
  return [...keep, ...namespace, ...others]
}

const asUser = (name: string, { uid, gid }: Owner): RunAs => ({ name: `user ${name}`, prefix: [], owner: { uid, gid } })

/** Ordinary users, the likeliest first. A namespace needs one, too: its user must have a name. */
async function readUsers(): Promise<{ name: string; uid: number; gid: number }[]> {
  const rank = (name: string) =>
    PREFERRED_USERS.includes(name) ? PREFERRED_USERS.indexOf(name) : PREFERRED_USERS.length
  return (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ name, uid, gid }) => name !== '' && uid > 0 && gid > 0)
    .sort((one, other) => rank(one.name) - rank(other.name))
}

async function tryOut(candidate: RunAs, place: { dataDir: string; postgres: string }): Promise<string | null> {
  await letThrough(place.dataDir, candidate.owner)
  const [program = 'sh', ...args] = [...candidate.prefix, 'sh', '-c', TRIAL, 'sh', place.dataDir, place.postgres]
  try {
    await promisify(execFile)(program, args, {
      ...candidate.owner,
      cwd: '/',
      env: CHILD_ENV,
      timeout: TRIAL_MS_MAX,
    })
    return null
  } catch (error) {
    return reasonOf(error)
  }
}

function reasonOf(error: unknown): string {
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
  const reason = said === '' && error instanceof Error ? error.message : said
  return reason.replaceAll(/\s+/g, ' ')
}
