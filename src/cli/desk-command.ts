// `reeve desk`: the list of domains that the owner may automate, and a look at the tasks.
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { parseEntry } from '../doors/desk/domains/domain.ts'
import { allowDomain, listDomains, removeDomain } from '../doors/desk/domains/domain-store.ts'
import { openTaskStore } from '../doors/desk/tasks/task-store.ts'
import { summaryOf } from '../doors/desk/tasks/task-view.ts'
import { STATUSES } from '../doors/desk/tasks/task.ts'
import { DESK_SETTINGS } from '../doors/desk/settings.ts'
import { environment } from '../core/config.ts'
import { readSettings } from '../core/settings.ts'
import { positiveInteger } from './arguments.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, printJson, printTable, say } from './terminal.ts'
import { withEngine } from './with-engine.ts'

const DOMAINS_SHOWN_MAX = 10_000

export function addDeskCommands(program: Command): void {
  const desk = program.command('desk').description('the domains that may be automated, and the tasks of the desk')

  desk
    .command('allow')
    .description('allow a domain that the owner of this deployment is authorised to automate')
    .argument('<domain>', 'a host, with its port unless it is the default one; *.shop.org for all subdomains')
    .requiredOption('--reason <reason>', 'why it may be automated; kept with your name and the time')
    .option('--json', 'print JSON')
    .action(allow)

  desk.command('list').description('the domains on the list').option('--json', 'print JSON').action(list)

  desk
    .command('remove')
    .description('remove a domain from the list')
    .argument('<domain>')
    .option('--json', 'print JSON')
    .action(remove)

  desk
    .command('tasks')
    .description('the newest tasks, newest first')
    .option('--status <status>', `only ${STATUSES.join(', ')}`)
    .option('--domain <domain>', 'only of this domain')
    .option('--limit <n>', 'maximum number of tasks', positiveInteger, 20)
    .option('--json', 'print JSON')
    .action(tasks)
}

/** Access to the database is the authorisation; the account of this machine is recorded. */
const who = (): string => `${userInfo().username} (command line)`

async function allow(domain: string, options: { reason: string; json?: boolean }): Promise<void> {
  const entry = parsedEntry(domain)
  const reason = options.reason.trim()
  if (reason === '') throw new CommandFailed('Say why it may be automated: --reason "…".', 2)
  const row = await withEngine(({ database }) => allowDomain(database, { entry, reason, by: who() }))
  if (options.json === true) return printJson(row)
  print(`${row.domain} is on the list.`)
}

async function list(options: { json?: boolean }): Promise<void> {
  const rows = await withEngine(({ database }) => listDomains(database, { after: '', limit: DOMAINS_SHOWN_MAX }))
  if (options.json === true) return printJson(rows)
  if (rows.length === 0) return say('No domain is on the list: every task but those of reserved names is refused.')
  printTable(
    ['DOMAIN', 'ADDED', 'BY', 'REASON'],
    rows.map((row) => [row.domain, row.added_at.toISOString(), plain(row.added_by), plain(row.reason).slice(0, 80)]),
  )
}

async function remove(domain: string, options: { json?: boolean }): Promise<void> {
  const entry = parsedEntry(domain)
  const row = await withEngine(({ database }) => removeDomain(database, entry, who()))
  if (row === null) throw new CommandFailed(`${plain(entry)} is not on the list.`)
  if (options.json === true) return printJson(row)
  print(`${row.domain} is off the list.`)
}

async function tasks(options: { status?: string; domain?: string; limit: number; json?: boolean }): Promise<void> {
  const status = STATUSES.find((name) => name === options.status) ?? null
  if (options.status !== undefined && status === null) {
    throw new CommandFailed(`Unknown status "${plain(options.status)}": expected ${STATUSES.join(', ')}.`, 2)
  }
  const domain = options.domain === undefined ? null : parsedEntry(options.domain)
  const filter = {
    accountId: null,
    status,
    domain,
    assignedTo: null,
    challengeType: null,
    minPriority: null,
    isOpen: false,
    text: null,
    olderThanSec: null,
    after: null,
    order: 'newest' as const,
    limit: options.limit,
    offset: 0,
  }
  const settings = readSettings(DESK_SETTINGS, environment(), [])
  const found = await withEngine(({ database }) => openTaskStore(database).list(filter))
  if (options.json === true) return printJson(found.tasks.map((task) => summaryOf(task, settings)))
  if (found.tasks.length === 0) return say('No tasks.')
  printTable(
    ['TASK', 'STATUS', 'PRIORITY', 'DOMAIN', 'OPERATOR', 'CREATED'],
    found.tasks.map((task) => [
      task.uuid,
      task.status,
      String(task.priority),
      plain(task.domain),
      plain(task.assigned_to ?? ''),
      task.created_at.toISOString(),
    ]),
  )
}

function parsedEntry(domain: string): string {
  const entry = parseEntry(domain)
  if (entry !== null) return entry
  throw new CommandFailed(`"${plain(domain)}" is not a host like shop.org, shop.org:8443 or *.shop.org.`, 2)
}
