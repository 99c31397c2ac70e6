// What became of a submission: the verdict, its tests as they come, and what to look at first.
import type { Submission, SubmissionTest } from '@reeve/sdk'
import { plural } from '../../../clock/format.ts'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge, type Stated } from '../../../parts/data/state-badge.tsx'
import { Block, SampleDifference } from './sample-difference.tsx'
import { useSubmission, type Progress } from './use-submission.ts'
import { memory, milliseconds, stateOf } from './verdicts.ts'
import { VerdictStrip } from './verdict-strip.tsx'

interface PanelProps {
  jobId: string
  /** Of the problem: squares that are drawn before the first test has run. */
  tests: number
}

export function VerdictPanel({ jobId, tests }: PanelProps) {
  const { found, progress } = useSubmission(jobId)
  if (found.isPending) return <Skeleton lines={3} />
  if (found.isError)
    return (
      <ErrorBox title="The submission could not be loaded" error={found.error} onRetry={() => void found.refetch()} />
    )
  return <Verdict submission={found.data} progress={progress} tests={tests} />
}

interface VerdictProps {
  submission: Submission
  progress: Progress
  tests: number
}

export function Verdict({ submission, progress, tests }: VerdictProps) {
  const { time_ms: time, mem_kb: kb, score, compile_output: compiler, reason, own_input: isRun } = submission
  const done = submission.tests ?? progress.tests
  const hasRun = submission.verdict !== 'CE'
  const failed = done.find(({ verdict }) => verdict !== 'AC')
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StateBadge {...shownState(submission, progress)} />
        {hasRun && time !== undefined && <span className="text-quiet">{milliseconds(time)}</span>}
        {hasRun && kb !== undefined && <span className="text-quiet">{memory(kb)}</span>}
        {score !== undefined && <span className="font-medium">{plural(score, 'point')}</span>}
        {failed !== undefined && isRun !== true && (
          <span className="text-quiet">
            on <bdi>{failed.name}</bdi>
          </span>
        )}
      </p>
      {isRun !== true && hasRun && <VerdictStrip tests={done} total={Math.max(done.length, progress.total ?? tests)} />}
      {reason !== undefined && <p dir="auto">{reason}</p>}
      {compiler !== undefined && <Block label="Compiler" text={compiler} />}
      {isRun === true ? (
        done[0]?.output !== undefined && <SampleDifference test={done[0]} />
      ) : (
        <FirstFailure tests={done} />
      )}
    </div>
  )
}

/** A run on an input of one's own is not accepted: nothing was compared. */
function shownState(submission: Submission, { tests, total }: Progress): Stated {
  if (submission.own_input === true && submission.verdict === 'AC') return { tone: 'good', word: 'Finished' }
  if (submission.status === 'FINISHED') return stateOf(submission)
  if (total !== null) return { tone: 'active', word: `Running, ${tests.length} of ${total}` }
  return stateOf(submission)
}

/** Of a secret test only verdict, time and memory are shown. */
function FirstFailure({ tests }: { tests: readonly SubmissionTest[] }) {
  const failed = tests.find(({ verdict }) => verdict !== 'AC')
  if (failed?.input === undefined) return null
  return (
    <section aria-label="First failing sample" className="flex flex-col gap-2">
      <h2 className="font-medium">{failed.name}</h2>
      <SampleDifference test={failed} />
    </section>
  )
}
