import type { Command } from 'commander'
import type { HistoryEntry } from '../core/ledger/history.ts'
import { parseJobId, type Job } from '../core/ledger/job.ts'
import { replayJob } from '../core/executor/endings.ts'
import { JOB_STATES } from '../core/ledger/read.ts'
import { refused } from '../core/values/outcome.ts'
import { CommandFailed } from './failure.ts'
import { positiveInteger } from './arguments.ts'
import { plain, print, printJson, printTable, say, styled } from './terminal.ts'
import { withDoors, withEngine } from './with-engine.ts'

const REPLAY_MAX = 10_000
const STATE_STYLES = { pending: 'yellow', processing: 'cyan', done: 'green', dead: 'red' } as const

export function addJobCommands(program: Command): void {
  const job = program.command('job').description('look at jobs, and try dead ones again')

  job
    .command('list')
    .description('the newest jobs, newest first')
    .option('--kind <kind>', 'only this kind')
    .option('--state <state>', `only ${JOB_STATES.join(', ')}`)
    .option('--limit <n>', 'at most so many', positiveInteger, 20)
    .option('--json', 'for programs')
    .action(listJobs)

  job
    .command('show')
    .description('one job with its history')
    .argument('<job_id>')
    .option('--json', 'for programs')
    .action(showJob)

  job
    .command('replay')
    .description('submit dead jobs again, each as a new job that names the old one')
    .argument('[job_id...]')
    .option('--all-dead', 'every dead job of --kind')
    .option('--kind <kind>', 'with --all-dead')
    .option('--json', 'for programs')
    .action(replayJobs)
}

async function listJobs(options: { kind?: string; state?: string; limit: number; json?: boolean }): Promise<void> {
  const state = JOB_STATES.find((name) => name === options.state)
  if (options.state !== undefined && state === undefined) {
    throw new CommandFailed(`Unknown state "${options.state}": expected ${JOB_STATES.join(', ')}.`, 2)
  }
  const jobs = await withEngine(({ engine }) => engine.ledger.list({ kind: options.kind, state, limit: options.limit }))
  if (options.json === true) return printJson(jobs)
  if (jobs.length === 0) return say('No jobs.')
  printTable(
    ['JOB', 'KIND', 'STATE', 'ATTEMPT', 'SUBMITTED', 'REASON'],
    jobs.map((job) => [
      job.jobId,
      plain(job.kind),
      job.state,
      String(job.attemptId),
      job.submittedAt.toISOString(),
      plain(job.reason ?? '').slice(0, 60),
    ]),
  )
}

async function showJob(jobId: string, options: { json?: boolean }): Promise<void> {
  const found = await withEngine(async ({ engine: { ledger } }) => {
    const known = parseJobId(jobId)
    const job = known === null ? null : await ledger.get(known)
    return job === null ? null : { job, history: await ledger.history(job) }
  })
  if (found === null) throw new CommandFailed(`There is no job ${plain(jobId)}.`)
  if (options.json === true) return printJson(found)
  printJob(found.job)
  for (const entry of found.history) printEntry(entry)
}

function printJob(job: Job): void {
  print(`${styled('bold', job.jobId)}  ${plain(job.kind)}  ${styled(STATE_STYLES[job.state], job.state)}`)
  print(`payload  ${plain(JSON.stringify(job.payload)).slice(0, 500)}`)
  if (job.result !== null) print(`result   ${plain(JSON.stringify(job.result)).slice(0, 500)}`)
  if (job.replayOf !== null) print(`replays  ${job.replayOf}`)
  print()
}

function printEntry({ at, what, attemptId, owner, detail }: HistoryEntry): void {
  const attempt = attemptId === 0 ? '' : `attempt ${attemptId}`
  print(
    `${at.toISOString()}  ${what.padEnd(13)}  ${attempt.padEnd(11)}  ${plain(owner ?? '')}  ${plain(detail ?? '')}`.trimEnd(),
  )
}

async function replayJobs(
  jobIds: string[],
  options: { allDead?: boolean; kind?: string; json?: boolean },
): Promise<void> {
  if (jobIds.length === 0 && options.allDead !== true) throw new CommandFailed('Name a job, or use --all-dead.', 2)
  const answers = await withDoors(async ({ engine: { ledger, kinds } }) => {
    const dead =
      options.allDead === true ? await ledger.list({ state: 'dead', kind: options.kind, limit: REPLAY_MAX }) : []
    const replayed: { jobId: string; replayedAs?: string; refused?: string; message?: string }[] = []
    for (const jobId of [...jobIds, ...dead.map((job) => job.jobId)]) {
      const known = parseJobId(jobId)
      const answer = known === null ? refused('unknown_job') : await replayJob(ledger, kinds, known)
      if (answer.ok) replayed.push({ jobId, replayedAs: answer.jobId })
      else replayed.push({ jobId, refused: answer.code, ...('message' in answer ? { message: answer.message } : {}) })
    }
    return replayed
  })
  if (options.json === true) printJson(answers)
  else for (const answer of answers) print(`${answer.jobId} → ${answer.replayedAs ?? answer.message ?? answer.refused}`)
  if (answers.some((answer) => answer.refused !== undefined))
    throw new CommandFailed('Not every job could be replayed.')
}
