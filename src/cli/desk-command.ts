// `reeve desk`: the list of domains that the owner may automate, and a look at the tasks.
import type { Command } from 'commander'
import { parseEntry } from '../doors/desk/domains/domain.ts'
import { STATUSES } from '../doors/desk/tasks/task.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from './access/client.ts'
import { everyRow } from './access/every-row.ts'
import { positiveInteger } from './arguments.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, printJson, printTable, say } from './terminal.ts'

const PAGE_MAX = 100
const OF_DESK = { door: 'desk' } as const

export function addDeskCommands(program: Command): void {
  const desk = program.command('desk').description('manage the domains that may be automated, and list tasks')
  const command = (name: string, about: string) => addRemoteOptions(desk.command(name).description(about))

  command('allow', 'allow a domain that the owner of this deployment is authorised to automate')
    .argument('<domain>', 'a host, with its port unless that is the default; *.shop.org for all subdomains')
    .requiredOption('--reason <reason>', 'why it may be automated; recorded with your name and the time')
    .action(allow)
  command('list', 'list the allowed domains').action(list)
  command('remove', 'remove a domain from the list of allowed domains').argument('<domain>').action(remove)
  command('tasks', 'list the newest tasks')
    .option('--status <status>', `only tasks with this status: ${STATUSES.join(', ')}`)
    .option('--domain <domain>', 'only tasks of this domain')
    .option('--limit <n>', `maximum number of tasks, up to ${PAGE_MAX}`, positiveInteger, 20)
    .action(tasks)
}

async function allow(domain: string, options: RemoteOptions & { reason: string }): Promise<void> {
  const entry = parsedEntry(domain)
  const reason = options.reason.trim()
  if (reason === '') throw new CommandFailed('Say why it may be automated: --reason "…".', 2)
  const row = await withClient(options, (reeve) => reeve.desk.allowDomain(entry, reason), OF_DESK)
  if (options.json === true) return printJson(row)
  print(`${plain(row.domain)} is on the list.`)
}

async function list(options: RemoteOptions): Promise<void> {
  const rows = await withClient(
    options,
    ({ desk }) =>
      everyRow(async (query: { after?: string }) => {
        const { domains, next_after: next } = await desk.domains(query)
        return { rows: domains, next }
      }),
    OF_DESK,
  )
  if (options.json === true) return printJson(rows)
  if (rows.length === 0) return say('No domain is on the list: every task but those of reserved names is refused.')
  printTable(
    ['DOMAIN', 'ADDED', 'BY', 'REASON'],
    rows.map((row) => [plain(row.domain), row.added_at, plain(row.added_by), plain(row.reason).slice(0, 80)]),
  )
}

async function remove(domain: string, options: RemoteOptions): Promise<void> {
  const entry = parsedEntry(domain)
  await withClient(options, (reeve) => reeve.desk.removeDomain(entry), OF_DESK)
  if (options.json === true) return printJson({ domain: entry })
  print(`${plain(entry)} is off the list.`)
}

async function tasks(options: RemoteOptions & { status?: string; domain?: string; limit: number }): Promise<void> {
  const status = STATUSES.find((name) => name === options.status)
  if (options.status !== undefined && status === undefined) {
    throw new CommandFailed(`Unknown status "${plain(options.status)}": expected ${STATUSES.join(', ')}.`, 2)
  }
  const filter = {
    ...(status === undefined ? {} : { status }),
    ...(options.domain === undefined ? {} : { domain: parsedEntry(options.domain) }),
    order: 'newest' as const,
    limit: Math.min(options.limit, PAGE_MAX),
  }
  const found = (await withClient(options, (reeve) => reeve.desk.list(filter), OF_DESK)).tasks
  if (options.json === true) return printJson(found)
  if (found.length === 0) return say('No tasks.')
  printTable(
    ['TASK', 'STATUS', 'PRIORITY', 'DOMAIN', 'OPERATOR', 'CREATED'],
    found.map((task) =>
      [task.uuid, task.status, String(task.priority), task.domain, task.assigned_to ?? '', task.created_at].map(plain),
    ),
  )
}

function parsedEntry(domain: string): string {
  const entry = parseEntry(domain)
  if (entry !== null) return entry
  throw new CommandFailed(`"${plain(domain)}" is not a host like shop.org, shop.org:8443 or *.shop.org.`, 2)
}
