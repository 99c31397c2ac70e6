// `reeve worker`: what runs a worker, and a look at the workers of the owner.
import type { Command } from 'commander'
import { addRemoteOptions, withClient, type RemoteOptions } from '../access/client.ts'
import { positiveInteger } from '../arguments.ts'
import { plain, print, printJson, printTable, say } from '../terminal.ts'
import { addWorkerRunCommands } from './worker-command.ts'

export function addWorkerCommands(program: Command): void {
  const worker = program.command('worker').description('work for a pool')
  // Loaded when it is asked for: the judge is much, and other workers do without.
  addWorkerRunCommands(worker, async (problems) => (await import('./worker-judge.ts')).openPoolJudge(problems))
  addRemoteOptions(worker.command('list')).description('the workers of the owner').action(listWorkers)
  addRemoteOptions(worker.command('remove'))
    .description('remove a worker; the job that it holds goes to another')
    .argument('<worker_id>', 'its number', positiveInteger)
    .action(removeWorker)
}

const OWNS = { owns: true }

async function listWorkers(options: RemoteOptions): Promise<void> {
  const workers = await withClient(options, (reeve) => reeve.pool.workers(), OWNS)
  if (options.json === true) return printJson(workers)
  if (workers.length === 0) return say('No workers.')
  printTable(
    ['WORKER', 'NAME', 'STATUS', 'REGION', 'LAST SEEN'],
    workers.map((one) =>
      [String(one.id), one.name, one.status, one.region ?? '', one.last_seen_at ?? 'never'].map(plain),
    ),
  )
}

async function removeWorker(workerId: number, options: RemoteOptions): Promise<void> {
  await withClient(options, (reeve) => reeve.pool.remove(workerId), OWNS)
  if (options.json === true) return printJson({ id: workerId })
  print(`Worker ${workerId} is removed.`)
}
