// `reeve submit FILE --problem ID --wait`: a program to be judged, and a line for each test as it is.
import { basename } from 'node:path'
import type { JudgeEvent, ReeveClient, Submission, SubmissionTest } from '@reeve/sdk'
import type { Command } from 'commander'
import { environment } from '../../core/config.ts'
import { readSettings } from '../../core/settings.ts'
import { languageOfFile, loadLanguages } from '../../doors/judge/languages/language.ts'
import { JUDGE_SETTINGS } from '../../doors/judge/settings.ts'
import { addRemoteOptions, withClient, type ClientOptions } from '../access/client.ts'
import { CommandFailed } from '../failure.ts'
import { readText } from '../read-input.ts'
import { isTerminal, plain, print, printJson, styled } from '../terminal.ts'

/** Not accepted is an answer, not a failure to get one: it has an exit code of its own. */
const NOT_ACCEPTED = 3

interface SubmitOptions extends ClientOptions {
  problem: string
  language?: string
  wait?: boolean
  json?: boolean
}

export function addSubmitCommand(program: Command): void {
  addRemoteOptions(program.command('submit'))
    .description('submit a program to a problem; exit code 3 if it is judged but not accepted')
    .argument('<file>', 'the source file, or - for standard input')
    .requiredOption('--problem <id>', 'the id of the problem')
    .option('--language <id>', 'the id of the language; default: by the extension of the file')
    .option('--wait', 'wait for the verdict, and print a line for each test')
    .action(submit)
}

async function submit(file: string, options: SubmitOptions): Promise<void> {
  const language = options.language ?? (await languageByName(file))
  const code = readText(file)
  const sendIt = async (reeve: ReeveClient) => {
    const accepted = await reeve.judge.submit({ problem_id: options.problem, language, code })
    if (options.wait !== true) return accepted
    if (options.json !== true) print(`submitted  ${accepted.job_id}  ${plain(options.problem)}  ${language}`)
    return watch(reeve, accepted.job_id, { isQuiet: options.json === true })
  }
  const submission = await withClient(options, sendIt, { owns: true, door: 'judge' })
  if (options.json === true) printJson(submission)
  else if (options.wait !== true) print(submission.job_id)
  if ('verdict' in submission && submission.verdict !== 'AC') process.exitCode = NOT_ACCEPTED
}

async function languageByName(file: string): Promise<string> {
  const { JUDGE_LANGUAGES_FILE } = readSettings(JUDGE_SETTINGS, environment(), [])
  const languages = await loadLanguages(JUDGE_LANGUAGES_FILE)
  const language = languageOfFile(languages.values(), basename(file))
  if (language === undefined) throw new CommandFailed('Name the language: --language ID.', 2)
  return language.id
}

async function watch(reeve: ReeveClient, jobId: string, { isQuiet }: { isQuiet: boolean }): Promise<Submission> {
  const live = openLive(isQuiet)
  for await (const event of reeve.judge.watch(jobId)) live.show(event)
  const submission = await reeve.judge.status(jobId)
  if (!isQuiet) printEnd(submission)
  return submission
}

/** On a terminal the test that runs has a line of its own, which the next one takes over. */
function openLive(isQuiet: boolean) {
  let attempt = 0
  let done = 0
  let total = 0
  const clear = () => isTerminal && process.stdout.write('\r\u001b[K')
  return {
    show(event: JudgeEvent): void {
      if (isQuiet || event.type === 'finished' || event.attempt_id < attempt) return
      clear()
      if (event.attempt_id > attempt && attempt > 0) print(styled('yellow', 'The worker was lost: judged again.'))
      if (event.attempt_id > attempt) done = 0
      attempt = event.attempt_id
      if (event.type === 'running') {
        total = event.tests
      } else {
        done += 1
        print(testLine(event))
      }
      if (isTerminal && done < total) process.stdout.write(styled('gray', `test ${done + 1} of ${total} …`))
    },
  }
}

const testLine = ({ name, verdict, time_ms, mem_kb }: SubmissionTest): string =>
  `${name.padEnd(24)} ${styled(verdict === 'AC' ? 'green' : 'red', verdict.padEnd(3))} ${`${time_ms} ms`.padStart(9)} ${kilobytes(mem_kb).padStart(10)}`

const kilobytes = (kb: number): string => (kb < 10_000 ? `${kb} KB` : `${Math.round(kb / 1024)} MB`)

function printEnd({ verdict, status_text, score, groups, time_ms, mem_kb, compile_output, reason, tests }: Submission) {
  if (isTerminal) process.stdout.write('\r\u001b[K')
  for (const group of groups ?? []) {
    const most = group.max_score === null ? '' : ` of ${group.max_score}`
    print(`${group.name.padEnd(24)} ${group.verdict.padEnd(3)} ${group.score}${most} points`)
  }
  const points = score === undefined ? '' : `  ${score} points`
  print(
    `${styled(verdict === 'AC' ? 'green' : 'red', status_text ?? '')}${points}  ${time_ms} ms  ${kilobytes(mem_kb ?? 0)}`,
  )
  if (reason !== undefined) print(plain(reason))
  if (verdict === 'CE' && compile_output !== undefined) print(compile_output.split('\n').map(plain).join('\n'))
  const sample = tests?.find((test) => test.verdict !== 'AC' && test.input !== undefined)
  if (sample !== undefined) printSample(sample)
}

function printSample({ name, input, expected, output, stderr, message }: SubmissionTest): void {
  const part = (title: string, text: string | undefined) => {
    if (text !== undefined && text !== '') print(`${styled('bold', title)}\n${text.split('\n').map(plain).join('\n')}`)
  }
  print(`\n${plain(name)}${message === undefined ? '' : `: ${plain(message)}`}`)
  part('input', input)
  part('expected', expected)
  part('output', output)
  part('stderr', stderr)
}
