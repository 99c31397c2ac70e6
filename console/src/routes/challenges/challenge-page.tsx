import type { ChallengeStory } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useNow } from '../../clock/clock.ts'
import { Page } from '../../frame/page.tsx'
import { useLive } from '../../live/live.ts'
import { Copy } from '../../parts/controls/copy.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../parts/data/facts.tsx'
import { Json } from '../../parts/data/json.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { Timeline } from '../../parts/data/timeline.tsx'
import { client, queries } from '../../session/client.ts'
import { attemptEntries } from './attempts.tsx'
import { Results } from './results.tsx'
import { challengeRoute } from './routes.ts'
import { SendButton } from './send.tsx'
import { CHALLENGE_STATES, problemOf, ruleOf } from './words.ts'

const CRUMBS = [{ label: 'Challenges', to: '/console/challenges' }]

export function ChallengePage() {
  const { challengeId } = challengeRoute.useParams()
  const queryKey = ['challenges', 'challenge', challengeId]
  const challenge = useQuery({ queryKey, queryFn: () => client.challenges.get(challengeId), refetchOnMount: 'always' })
  useLive({
    topic: 'challenges',
    params: { challenge_ids: [challengeId] },
    enabled: challenge.data !== undefined,
    onMessage: ({ type }) => {
      if (type === 'changed') void queries.invalidateQueries({ queryKey })
    },
  })
  if (challenge.data !== undefined) return <Shown challenge={challenge.data} />
  return (
    <Page title={challengeId} crumbs={CRUMBS}>
      {challenge.isError ? (
        <ErrorBox
          title="The challenge could not be loaded"
          error={challenge.error}
          onRetry={() => void challenge.refetch()}
        />
      ) : (
        <Skeleton lines={8} />
      )}
    </Page>
  )
}

function Shown({ challenge }: { challenge: ChallengeStory }) {
  const now = useNow()
  const { challenge_id: challengeId, deliveries, output_spec: outputSpec, constraints } = challenge
  const { type, text } = problemOf(challenge)
  return (
    <Page
      title={text === '' ? challengeId : text.slice(0, TITLE_CHARS_MAX)}
      crumbs={CRUMBS}
      aside={<StateBadge {...CHALLENGE_STATES[challenge.state]} />}
      actions={<SendButton challenge={challenge} />}
    >
      <Facts>
        <Fact name="Challenge">
          <Copy text={challengeId} label="challenge id" />
        </Fact>
        <Fact name="Problem">{type}</Fact>
        <Fact name="Expected">
          <span dir="auto">{challenge.answer}</span>
        </Fact>
        <Fact name="Correct if">
          <span dir="auto">{ruleOf(challenge.validation_rule)}</span>
        </Fact>
        <Fact name="Created">
          <Time at={challenge.created_at} />
        </Fact>
        <Fact name="Sent">
          <Time at={challenge.sent_at} />
        </Fact>
        <Fact name="Answered">
          <Time at={challenge.completed_at} />
        </Fact>
        {challenge.solver_job_id !== null && (
          <Fact name="Solver’s job">
            <Copy text={challenge.solver_job_id} label="Solver’s job id" />
          </Fact>
        )}
      </Facts>
      <Results challenge={challenge} />
      {deliveries.length > 0 && (
        <>
          <h2 className="mt-6 mb-2 text-lead font-semibold">Attempts to send it</h2>
          <Timeline label="Attempts to send it" entries={attemptEntries('challenge_send', deliveries)} now={now} />
        </>
      )}
      <div className="mt-6 grid gap-4 lg:grid-cols-2">
        <Json value={challenge.problem} label="Problem" />
        {outputSpec !== null && <Json value={outputSpec} label="Output" />}
        {constraints !== null && <Json value={constraints} label="Constraints" />}
      </div>
    </Page>
  )
}

const TITLE_CHARS_MAX = 80
