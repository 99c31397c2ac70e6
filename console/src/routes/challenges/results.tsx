// What Solvers answered. The first result is final; later ones are kept beside it.
import type { ChallengeCallback, ChallengeResult, ChallengeStory } from '@reeve/sdk'
import { plural } from '../../clock/format.ts'
import { Copy, shortId } from '../../parts/controls/copy.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { Json } from '../../parts/data/json.tsx'
import { StateBadge, type Stated } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { resultState } from './words.ts'

export function Results({ challenge: { results, callbacks, state } }: { challenge: ChallengeStory }) {
  return (
    <section aria-label="Results" className="mt-6">
      <h2 className="mb-2 text-lead font-semibold">Results</h2>
      {results.length === 0 && (
        <Empty title="No result yet">
          {state === 'created' || state === 'send_failed'
            ? 'Send the challenge to a Solver to get one.'
            : 'It appears here as soon as the Solver calls back.'}
        </Empty>
      )}
      <ol className="flex flex-col gap-3">
        {results.map((result) => (
          <li key={result.request_id} className="rounded-md border border-line p-4">
            <Result result={result} />
          </li>
        ))}
      </ol>
      {callbacks.length > 0 && <Callbacks callbacks={callbacks} />}
    </section>
  )
}

function Result({ result }: { result: ChallengeResult }) {
  const { answer, error_code: code, error_message: message, metadata } = result
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <StateBadge {...resultState(result)} />
        {!result.is_final && <span className="text-quiet">came later, and does not count</span>}
        <span className="ml-auto text-quiet">
          <Time at={result.created_at} />
        </span>
      </div>
      {answer !== null && (
        <pre
          className="mt-2 max-h-60 overflow-auto font-mono text-[13px] wrap-anywhere whitespace-pre-wrap"
          dir="auto"
          tabIndex={0}
          role="region"
          aria-label="Answer"
        >
          {answer}
        </pre>
      )}
      {(code !== null || message !== null) && (
        <p className="mt-2 wrap-anywhere text-bad-fg" dir="auto">
          {[code, message].filter((part) => part !== null).join(': ')}
        </p>
      )}
      {metadata !== null && (
        <details className="mt-2">
          <summary className="text-quiet">What the Solver adds</summary>
          <Json value={metadata} label="Metadata" />
        </details>
      )}
    </>
  )
}

const OUTCOMES: Readonly<Record<ChallengeCallback['outcome'], Stated>> = {
  recorded: { tone: 'good', word: 'Recorded' },
  duplicate: { tone: 'quiet', word: 'Sent again' },
  conflict: { tone: 'warn', word: 'Same request, other body' },
  refused: { tone: 'bad', word: 'Refused' },
}

function Callbacks({ callbacks }: { callbacks: readonly ChallengeCallback[] }) {
  return (
    <details className="mt-3">
      <summary className="text-quiet">{plural(callbacks.length, 'signed callback')} arrived</summary>
      <ul className="mt-2 flex flex-col gap-1.5">
        {callbacks.map(({ request_id: requestId, outcome, status_code: status, created_at: at }, index) => (
          <li key={index} className="flex flex-wrap items-center gap-3">
            <StateBadge {...OUTCOMES[outcome]} />
            <span>answered with {status}</span>
            <Copy text={requestId} shown={shortId(requestId)} label="request id" />
            <span className="text-quiet">
              <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}
