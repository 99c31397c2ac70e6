// `reeve job`: jobs of any kind, through the routes of an admin.
import { ReeveError, type Job, type JobDetail, type JobHistoryEntry, type ReeveClient } from '@reeve/sdk'
import type { Command } from 'commander'
import { addRemoteOptions, withClient, type RemoteOptions } from './access/client.ts'
import { nonNegativeInteger, positiveInteger } from './arguments.ts'
import { CommandFailed } from './failure.ts'
import { readJson } from './read-input.ts'
import { plain, print, printJson, printTable, say, styled } from './terminal.ts'

const STATES = ['pending', 'processing', 'done', 'dead'] as const
const STATE_STYLES = { pending: 'yellow', processing: 'cyan', done: 'green', dead: 'red' } as const
const PAGE_MAX = 200
const WAIT_MS = 50_000
/** Dead is an answer, not a failure to get one. */
const DEAD = 3

export function addJobCommands(program: Command): void {
  const job = program.command('job').description('submit, list, watch, cancel and replay jobs')
  const command = (name: string, about: string) => addRemoteOptions(job.command(name).description(about))

  command('list', 'list the newest jobs')
    .option('--kind <kind>', 'list jobs of this kind')
    .option('--state <state>', `list jobs in this state: ${STATES.join(', ')}`)
    .option('--limit <n>', 'maximum number of jobs', positiveInteger, 20)
    .action(listJobs)
  command('show', 'show a job with its history').argument('<job_id>').action(showJob)
  command('submit', 'submit a job and print its id')
    .argument('<kind>', 'the kind of job, such as echo')
    .argument('<file>', 'a file with the payload as JSON, or - for standard input')
    .option('--priority <0-9>', 'jobs with a higher priority run sooner; default: 5', nonNegativeInteger)
    .option('--delay <seconds>', 'run it no sooner than this many seconds from now', positiveInteger)
    .option('--idempotency-key <key>', 'submitting again with the same key and payload returns the same job')
    .option('--wait', 'wait until it ends; exit code 3 if it is dead')
    .action(submitJob)
  command('watch', 'print what happens to a job until it ends; exit code 3 if it is dead')
    .argument('<job_id>')
    .action(watchJob)
  command('cancel', 'cancel jobs that have not ended')
    .argument('<job_id...>')
    .option('--reason <reason>', 'recorded with the job')
    .action(cancelJobs)
  command('replay', 'submit dead jobs again, each as a new job that refers to the old one')
    .argument('[job_id...]')
    .option('--all-dead', 'replay every dead job of the kind that --kind names')
    .option('--kind <kind>', 'the kind, with --all-dead')
    .action(replayJobs)
}

async function listJobs(options: RemoteOptions & { kind?: string; state?: string; limit: number }): Promise<void> {
  const state = STATES.find((name) => name === options.state)
  if (options.state !== undefined && state === undefined) {
    throw new CommandFailed(`Unknown state "${plain(options.state)}": expected ${STATES.join(', ')}.`, 2)
  }
  const filter = { ...(options.kind && { kind: options.kind }), ...(state && { state }) }
  const jobs = await withClient(options, (reeve) => newest(reeve, filter, options.limit))
  if (options.json === true) return printJson(jobs)
  if (jobs.length === 0) return say('No jobs.')
  printTable(
    ['JOB', 'KIND', 'STATE', 'ATTEMPT', 'SUBMITTED', 'REASON'],
    jobs.map((job) => [
      job.job_id,
      plain(job.kind),
      job.state,
      String(job.attempt_id),
      job.submitted_at,
      plain(job.reason ?? '').slice(0, 60),
    ]),
  )
}

type Filter = Parameters<ReeveClient['jobs']['list']>[0]

async function newest(reeve: ReeveClient, filter: Filter, limit: number): Promise<Job[]> {
  const jobs: Job[] = []
  let before: string | null = null
  do {
    const page: { jobs: Job[]; next_before: string | null } = await reeve.jobs.list({
      ...filter,
      limit: Math.min(limit - jobs.length, PAGE_MAX),
      ...(before === null ? {} : { before }),
    })
    jobs.push(...page.jobs)
    before = page.next_before
  } while (before !== null && jobs.length < limit)
  return jobs
}

async function showJob(jobId: string, options: RemoteOptions): Promise<void> {
  const job = await withClient(options, (reeve) => reeve.jobs.get(jobId))
  if (options.json === true) return printJson(job)
  printJob(job)
  for (const entry of job.history) printEntry(entry)
}

interface SubmitJobOptions extends RemoteOptions {
  priority?: number
  delay?: number
  idempotencyKey?: string
  wait?: boolean
}

async function submitJob(kind: string, file: string, options: SubmitJobOptions): Promise<void> {
  const { priority, delay, idempotencyKey, wait, json } = options
  const job = {
    kind,
    payload: readJson(file),
    ...(priority === undefined ? {} : { priority }),
    ...(delay === undefined ? {} : { delay_ms: delay * 1000 }),
  }
  const { submitted, ended } = await withClient(options, async (reeve) => {
    const submitted = await reeve.jobs.submit(job, idempotencyKey === undefined ? {} : { idempotencyKey })
    if (wait !== true) return { submitted, ended: null }
    if (json !== true) say(submitted.job_id)
    return { submitted, ended: await untilEnded(reeve, submitted.job_id, () => {}) }
  })
  if (json === true) printJson(ended ?? submitted)
  else if (ended === null) print(submitted.job_id)
  else printEnd(ended)
  if (ended !== null) endWith(ended)
}

async function watchJob(jobId: string, options: RemoteOptions): Promise<void> {
  const ended = await withClient(options, (reeve) =>
    untilEnded(reeve, jobId, (entry) => {
      if (options.json === true) printJson(entry)
      else printEntry(entry)
    }),
  )
  if (options.json !== true) printEnd(ended)
  endWith(ended)
}

/** Shows each entry of its history once. The server answers when the job ends, or after a while. */
async function untilEnded(
  reeve: ReeveClient,
  jobId: string,
  show: (entry: JobHistoryEntry) => void,
): Promise<JobDetail> {
  let shown = 0
  let job = await reeve.jobs.get(jobId)
  for (;;) {
    for (const entry of job.history.slice(shown)) show(entry)
    shown = job.history.length
    if (job.state === 'done' || job.state === 'dead') return job
    job = await reeve.jobs.wait(jobId, { timeoutMs: WAIT_MS })
  }
}

function endWith({ state }: JobDetail): void {
  if (state === 'dead') process.exitCode = DEAD
}

function printEnd({ state, result, reason }: JobDetail): void {
  print(`${styled(STATE_STYLES[state], state)}  ${plain(state === 'dead' ? (reason ?? '') : JSON.stringify(result))}`)
}

function printJob(job: JobDetail): void {
  print(`${styled('bold', job.job_id)}  ${plain(job.kind)}  ${styled(STATE_STYLES[job.state], job.state)}`)
  print(`payload  ${plain(JSON.stringify(job.payload)).slice(0, 500)}`)
  if (job.result !== null) print(`result   ${plain(JSON.stringify(job.result)).slice(0, 500)}`)
  if (job.replay_of !== null) print(`replays  ${job.replay_of}`)
  print()
}

function printEntry({ at, what, attempt_id: attemptId, owner, detail }: JobHistoryEntry): void {
  const attempt = attemptId === 0 ? '' : `attempt ${attemptId}`
  print(`${at}  ${what.padEnd(13)}  ${attempt.padEnd(11)}  ${plain(owner ?? '')}  ${plain(detail ?? '')}`.trimEnd())
}

interface ChangedJob {
  job_id: string
  /** What became of it. */
  state?: string
  replayed_as?: string
  refused?: string
}

async function cancelJobs(jobIds: readonly string[], options: RemoteOptions & { reason?: string }): Promise<void> {
  const answers = await withClient(options, (reeve) =>
    each(jobIds, async (jobId) => ({ job_id: jobId, state: (await reeve.jobs.cancel(jobId, options.reason)).state })),
  )
  report(answers, options, 'cancelled')
}

async function replayJobs(
  jobIds: readonly string[],
  options: RemoteOptions & { allDead?: boolean; kind?: string },
): Promise<void> {
  if (jobIds.length === 0 && options.allDead !== true) throw new CommandFailed('Name a job, or use --all-dead.', 2)
  const answers = await withClient(options, async (reeve) => {
    const filter = { state: 'dead' as const, ...(options.kind && { kind: options.kind }) }
    const dead = options.allDead === true ? await newest(reeve, filter, Infinity) : []
    return each([...jobIds, ...dead.map((job) => job.job_id)], async (jobId) => ({
      job_id: jobId,
      replayed_as: (await reeve.jobs.replay(jobId)).job_id,
    }))
  })
  report(answers, options, 'replayed')
}

/** A refusal of one is no reason not to try the next. */
async function each(jobIds: readonly string[], work: (jobId: string) => Promise<ChangedJob>): Promise<ChangedJob[]> {
  const answers: ChangedJob[] = []
  for (const jobId of jobIds) {
    try {
      answers.push(await work(jobId))
    } catch (error) {
      if (!(error instanceof ReeveError)) throw error
      answers.push({ job_id: jobId, refused: plain(error.message) })
    }
  }
  return answers
}

function report(answers: readonly ChangedJob[], { json }: RemoteOptions, what: string): void {
  if (json === true) printJson(answers)
  else for (const one of answers) print(`${plain(one.job_id)} → ${one.replayed_as ?? one.state ?? one.refused ?? ''}`)
  if (answers.some(({ refused }) => refused !== undefined)) throw new CommandFailed(`Not every job was ${what}.`)
}
