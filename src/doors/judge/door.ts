// The judge door: programs in, verdicts out.
//
//   POST /submit ── job of kind `judge` ──► compile ─► run on each test ─► compare ──► GET /status/{job_id}
//                                           (in a sandbox)
//
// Rooms, in the order in which a submission passes them: submissions/ (requests, progress, results), problems/ (requests,
// import), package/ (the package format), languages/, work/ (one submission judged), programs/ (compiling, caches),
// compare/, sandbox/; verify/ is `reeve problem verify`.
//
// Contestants: POST /submit, POST /problems/{problem_id}/run, GET /status/{job_id}, GET /status/{job_id}/events, GET /submissions, GET /problems,
//              GET /problems/{problem_id}, GET /problems/{problem_id}/statement/{file}.
// Admins:      PUT /problems/{problem_id}, POST /submissions/{job_id}/rejudge.
// Other doors: `code` problems.
// Loops:       publish the languages of this process, prune the caches.
import { join } from 'node:path'
import { redisUrl, type Config } from '../../core/config.ts'
import type { Deps, Door } from '../../core/door.ts'
import { ownerName } from '../../core/log/log.ts'
import { codeCapability } from './submissions/code-capability.ts'
import { errorBody } from './errors.ts'
import type { ImportDeps } from './problems/import-problem.ts'
import { inspectPackage } from './problems/inspect-package.ts'
import { inspectInThread } from './problems/inspect-threads.ts'
import { installSamples } from './problems/install-samples.ts'
import { judgeKind } from './work/judge-kind.ts'
import { loadLanguages } from './languages/language.ts'
import { submissionsRoute } from './submissions/list-submissions.ts'
import { meterOf, openJudgeMetrics } from './metrics.ts'
import { openOfferedLanguages } from './languages/offered-languages.ts'
import { openProblemStore } from './problems/problem-store.ts'
import { putProblemRoute } from './problems/put-problem.ts'
import { pictureRoute } from './problems/read-picture.ts'
import { problemsRoute } from './problems/read-problems.ts'
import { statusRoute } from './submissions/read-status.ts'
import { JUDGE_SETTINGS, type JudgeSettings } from './settings.ts'
import { announcedIn } from './submissions/submission-view.ts'
import { countWaiting } from './submissions/submission-store.ts'
import { rejudgeRoute } from './submissions/rejudge.ts'
import { runRoute } from './submissions/run-program.ts'
import { openLiveSubmissions } from './submissions/live-submissions.ts'
import { submissionTopic } from './submissions/submission-topic.ts'
import { submitRoute } from './submissions/submit.ts'
import { watchRoute } from './submissions/watch-submission.ts'
import { openJudgeClient } from './work/judge-client.ts'
import { slotsOf } from './work/judge-worker.ts'

export const judgeDoor: Door<typeof JUDGE_SETTINGS> = {
  name: 'judge',
  about: 'Programs in, verdicts out: compiled, run in a sandbox and compared, test by test.',
  settings: JUDGE_SETTINGS,
  paths: ['/submit', '/submit/', '/status', '/status/', '/submissions', '/submissions/', '/problems', '/problems/'],
  errorBody,
  migrations: new URL('migrations/', import.meta.url),

  async open(deps, settings) {
    const { config, database, events, files, identity, ledger, log, outbox } = deps
    const languages = await loadLanguages(settings.JUDGE_LANGUAGES_FILE)
    const problems = openProblemStore(database)
    const offered = openOfferedLanguages(database)
    const checking = { problems, languages, offered }
    deps.capabilities.provide('code', codeCapability({ ledger, events, checking }))
    const metrics = openJudgeMetrics(deps.metrics)
    const judge = openJudgeClient({
      config,
      settings,
      folder: judgeFolder(config, settings),
      meter: meterOf(metrics),
      log,
    })
    const importing = importingWith({ config, files, problems, inspect: inspectInThread, check: judge.check }, settings)
    const owner = ownerName(config)
    if (settings.JUDGE_SAMPLE_PROBLEMS) {
      const installed = await installSamples(
        importingWith({ config, files, problems, inspect: inspectPackage, check: notChecked }, settings),
      )
      if (installed.length > 0) log.info({ problems: installed }, 'sample problems installed')
    }
    const slots = slotsOf(settings.JUDGE_SLOTS)
    const waiting = deps.quotas.open('submissions_waiting', (accountIds) => countWaiting(database, accountIds))
    const live = openLiveSubmissions({ database, ledger })
    const isAnnounced = announcedIn(outbox, redisUrl(config) !== null)

    return {
      kinds: [
        judgeKind({
          slots,
          submissionsKeptDays: settings.SUBMISSIONS_KEPT_DAYS,
          judge,
          verdicts: metrics.verdicts,
          database,
          events,
          outbox,
          log,
        }),
      ],
      live: [submissionTopic({ events, ledger }), live.topic],
      loops: { serving: [live.loop], working: [offered.loop(owner, judge.versions), judge.loop] },
      async close() {
        await judge.close()
        if (judge.versions() !== null) await offered.leave(owner)
      },
      async routes(app) {
        await app.register(submitRoute({ identity, ledger, checking, waiting, settings }))
        await app.register(runRoute({ identity, ledger, checking, settings }))
        await app.register(rejudgeRoute({ identity, ledger, problems }))
        await app.register(statusRoute({ identity, ledger, isAnnounced }))
        await app.register(watchRoute({ identity, ledger, events }))
        await app.register(submissionsRoute({ identity, database, ledger }))
        await app.register(problemsRoute({ identity, problems, languages, offered }))
        await app.register(pictureRoute({ identity, files, problems }))
        await app.register(putProblemRoute({ identity, importing }))
      },
    }
  },
}

/** What this machine keeps for judging; it may be deleted while nothing runs. */
export const judgeFolder = (config: Pick<Config, 'REEVE_DATA_DIR'>, settings: Pick<JudgeSettings, 'JUDGE_CACHE_DIR'>) =>
  settings.JUDGE_CACHE_DIR === '' ? join(config.REEVE_DATA_DIR, 'judge') : settings.JUDGE_CACHE_DIR

type ImportSources = Pick<Deps, 'config' | 'files'> & Pick<ImportDeps, 'problems' | 'inspect' | 'check'>

/** For imports where nothing can compile a validator. */
const notChecked = async (): Promise<null> => null

const importingWith = (
  { config, files, problems, inspect, check }: ImportSources,
  settings: JudgeSettings,
): ImportDeps => ({
  files,
  problems,
  inspect,
  check,
  folder: join(judgeFolder(config, settings), 'uploads'),
  bytesMax: settings.PROBLEM_PACKAGE_MAX_BYTES,
  unpackedBytesMax: settings.PROBLEM_UNPACKED_MAX_BYTES,
})
