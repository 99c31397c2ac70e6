// `reeve worker`: what runs a worker, and a look at the workers of the owner.
import type { Command } from 'commander'
import { addRemoteOptions, withClient, type RemoteOptions } from '../access/client.ts'
import { everyRow, pageOf } from '../access/every-row.ts'
import { positiveInteger } from '../arguments.ts'
import { plain, print, printJson, printTable, say } from '../terminal.ts'
import { addWorkerRunCommands } from './worker-command.ts'

export function addWorkerCommands(program: Command): void {
  const worker = program.command('worker').description('run workers of the pool, and list or remove them')
  // Loaded when it is asked for: the judge is much, and other workers do without.
  addWorkerRunCommands(worker, async (problems) => (await import('./worker-judge.ts')).openPoolJudge(problems))
  addRemoteOptions(worker.command('list'))
    .description('list your workers')
    .option('--all', 'list the workers of all owners (for admins)')
    .action((options: RemoteOptions & { all?: boolean }) =>
      options.all === true ? listAllWorkers(options) : listWorkers(options),
    )
  addRemoteOptions(worker.command('remove'))
    .description('remove a worker; its current job goes to another worker')
    .argument('<worker_id>', 'the id of the worker', positiveInteger)
    .action(removeWorker)
}

const PAGE = 1000
const OF_POOL = { owns: true, door: 'pool' } as const

async function listWorkers(options: RemoteOptions): Promise<void> {
  const workers = await withClient(options, (reeve) => reeve.pool.workers(), OF_POOL)
  if (options.json === true) return printJson(workers)
  if (workers.length === 0) return say('No workers.')
  printTable(
    ['WORKER', 'NAME', 'STATUS', 'REGION', 'LAST SEEN'],
    workers.map((one) =>
      [String(one.id), one.name, one.status, one.region ?? '', one.last_seen_at ?? 'never'].map(plain),
    ),
  )
}

async function listAllWorkers(options: RemoteOptions): Promise<void> {
  const workers = await withClient(
    options,
    ({ poolAdmin }) =>
      everyRow(async (query: { after?: number }) =>
        pageOf(await poolAdmin.workers({ limit: PAGE, ...query }), PAGE, (one) => one.worker_id),
      ),
    { door: 'pool' },
  )
  if (options.json === true) return printJson(workers)
  if (workers.length === 0) return say('No workers.')
  printTable(
    ['WORKER', 'NAME', 'STATUS', 'STANDING', 'OWNER', 'LAST SEEN'],
    workers.map((one) =>
      [String(one.worker_id), one.name, one.status, one.standing, one.owner ?? '', one.last_seen_at ?? 'never'].map(
        plain,
      ),
    ),
  )
}

async function removeWorker(workerId: number, options: RemoteOptions): Promise<void> {
  await withClient(options, (reeve) => reeve.pool.remove(workerId), OF_POOL)
  if (options.json === true) return printJson({ id: workerId })
  print(`Worker ${workerId} is removed.`)
}
